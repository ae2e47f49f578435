// `npm run test:pack`: packs every package, installs the archives in a temporary folder as a user would, and runs them
// there.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const work = mkdtempSync(join(tmpdir(), 'fairlead-pack-'))
const readyMs = 30_000
let passed = 0
const failures: string[] = []

function check(name: string, holds: boolean, detail = ''): void {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${name}${holds ? '' : `: ${detail}`}`)
  if (holds) passed++
  else failures.push(name)
}

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function attempt(name: string, body: () => string | undefined): void {
  try {
    const problem = body()
    check(name, problem === undefined, problem)
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    check(name, false, stderr || message)
  }
}

/** Returns the source that a source map of an archive points to. */
function sourceOf(map: string): string {
  return map.replace('package/dist/', 'package/src/').replace(/\.js\.map$/, '.ts')
}

/** `fairlead up` as installed: must say that it is ready, then stop cleanly. */
function runsUp(project: string): Promise<string | undefined> {
  return new Promise((done) => {
    const child = spawn(
      'npx',
      ['--no-install', 'fairlead', 'up', '--data', join(work, 'data'), '--port', '0', '--example', 'snapshot-schedule'],
      { cwd: project, detached: true },
    )
    let output = ''
    const tooLate = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), readyMs)
    const read = (chunk: Buffer): void => {
      const before = output
      output += chunk.toString()
      if (!before.includes('Ctrl-C') && output.includes('Ctrl-C')) process.kill(-(child.pid as number), 'SIGINT')
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', () => {
      clearTimeout(tooLate)
      done(output.includes('Ctrl-C') && output.includes('Stopping.') ? undefined : output)
    })
  })
}

/** The folder of `fairlead envtest use` as installed: its kube-apiserver must say that it serves, and stop cleanly. */
function servesAssets(project: string): Promise<string | undefined> {
  const args = ['--no-install', 'fairlead', 'envtest', 'use', '-p', 'path', '--bin-dir', join(work, 'assets')]
  const child = spawn(join(run('npx', args, project), 'kube-apiserver'), ['--secure-port=0'])
  let output = ''
  const tooLate = setTimeout(() => child.kill('SIGKILL'), readyMs)
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (output.includes(' at https://')) child.kill('SIGTERM')
  })
  return new Promise((done) => {
    child.on('exit', (code) => {
      clearTimeout(tooLate)
      done(code === 0 && output.includes('Serving Kubernetes') ? undefined : output)
    })
  })
}

try {
  // No build before it: packing builds.
  const archives = join(work, 'archives')
  mkdirSync(archives)
  run('npm', ['pack', '--workspaces', '--pack-destination', archives], root)
  const names = JSON.parse(run('npm', ['query', '.workspace'], root)) as { name: string }[]
  const files = readdirSync(archives)
  const fileOf = (name: string): string =>
    files.find((file) => file === `${name.replace('@', '').replace('/', '-')}-${version}.tgz`) as string
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const project = join(work, 'project')
  mkdirSync(project)
  const dependencies = Object.fromEntries(names.map(({ name }) => [name, `file:../archives/${fileOf(name)}`]))
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'project', private: true, type: 'module', dependencies }),
  )
  attempt('npm install of the archives', () => void run('npm', ['install', '--no-audit', '--no-fund'], project))
  for (const { name } of names) {
    attempt(`contents of ${name}`, () => {
      const inside = run('tar', ['-tzf', join(archives, fileOf(name))], root).split('\n')
      const required = ['LICENSE', 'NOTICE', 'README.md', 'dist/index.js', 'dist/index.d.ts']
      const missing = required.filter((file) => !inside.includes(`package/${file}`))
      const strays = inside.filter((file) => file.endsWith('.tsbuildinfo') || file.endsWith('.test.ts'))
      const blind = inside.filter((file) => file.endsWith('.js.map') && !inside.includes(sourceOf(file)))
      const problems = [...missing.map((file) => `no ${file}`), ...strays, ...blind]
      return problems.length === 0 ? undefined : problems.slice(0, 5).join(', ')
    })
    attempt(`import of ${name}`, () => {
      const text = run(
        'node',
        [
          '-e',
          `const module = await import(${JSON.stringify(name)}); console.log(Object.keys(module).length)`,
          '--input-type=module',
        ],
        project,
      )
      return Number(text) > 0 ? undefined : 'the entry point exports nothing'
    })
  }
  attempt('fairlead --version', () =>
    run('npx', ['--no-install', 'fairlead', '--version'], project).trim() === version ? undefined : 'another version',
  )
  attempt('fairlead map --help', () =>
    run('npx', ['--no-install', 'fairlead', 'map', '--help'], project).includes('render') ? undefined : 'no render',
  )
  for (const name of ['metacontroller', 'supply', 'actions', 'packages', 'references', 'aws']) {
    attempt(`CRDs of @fairlead/${name}`, () => {
      const folder = join(project, 'node_modules/@fairlead', name, 'crds')
      return readdirSync(folder).some((file) => file.endsWith('.yaml')) ? undefined : 'no CRD'
    })
  }
  attempt('example seed/health', () =>
    readdirSync(join(project, 'node_modules/fairlead/examples/seed/health')).includes('example.yaml')
      ? undefined
      : 'no example.yaml',
  )
  attempt('fairlead pkg render', () => {
    const kptfile = {
      apiVersion: 'kpt.dev/v1',
      kind: 'Kptfile',
      metadata: { name: 'site' },
      pipeline: { mutators: [{ image: 'set-namespace', configMap: { namespace: 'shop' } }] },
    }
    const folder = join(project, 'site')
    mkdirSync(folder)
    writeFileSync(join(folder, 'Kptfile'), JSON.stringify(kptfile))
    writeFileSync(join(folder, 'config.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\n')
    run('npx', ['--no-install', 'fairlead', 'pkg', 'render', folder], project)
    return readFileSync(join(folder, 'config.yaml'), 'utf8').includes('namespace: shop') ? undefined : 'not rendered'
  })
  const assets = await servesAssets(project)
  check('the folder of fairlead envtest use', assets === undefined, assets)
  const problem = await runsUp(project)
  check('fairlead up --example snapshot-schedule', problem === undefined, problem)
} finally {
  rmSync(work, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length === 0 ? 0 : 1)
