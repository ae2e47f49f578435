// Three-way merge of 1,000 resources of which upstream changed 10 % and the local package 5 %, beside kpt.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { updatePackage } from '@fairlead/packages'
import type { PackageFiles } from '@fairlead/packages'
import type { Figure } from '../figure.ts'

const resources = 1000
const perFile = 10
const rounds = 5

/** Measures the merge alone, and `pkg update` with its git access beside that of kpt. */
export async function merge(): Promise<readonly Figure[]> {
  const [base, upstream] = [packageFiles('1.0', '1.0'), packageFiles('1.1', '1.0')]
  const local = packageFiles('1.0', 'mine', true)
  const times = Array.from({ length: rounds }, () => {
    const begin = performance.now()
    const { conflicts } = updatePackage({ base, upstream, local, strategy: 'resource-merge' })
    if (conflicts.length > 0) throw new Error('the changes are disjoint')
    return performance.now() - begin
  })
  const title = `3-way merge of ${resources} resources, 10 % changed`
  const figures: Figure[] = [
    {
      figure: `${title}: the merge alone, cold / median`,
      asked: '',
      reached: `${times[0]!.toFixed(0)} / ${median(times).toFixed(0)} ms`,
      holds: undefined,
    },
  ]
  const { kpt, ours } = commandTimes(base, upstream)
  figures.push({
    figure: `${title}: pkg update, median of ${rounds} (kpt: one run)`,
    asked: 'not slower than kpt',
    reached: `${ours.toFixed(0)} ms`,
    holds: kpt === undefined ? undefined : ours <= kpt,
    peer: kpt === undefined ? 'kpt is not installed' : `${kpt.toFixed(0)} ms`,
  })
  return figures
}

function commandTimes(
  base: PackageFiles,
  upstream: PackageFiles,
): { readonly kpt: number | undefined; readonly ours: number } {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-merge-'))
  try {
    const repository = join(folder, 'upstream')
    const git = (cwd: string, ...args: readonly string[]): void =>
      void execFileSync('git', args, { cwd, stdio: 'pipe' })
    const commit = (cwd: string, message: string): void => {
      git(cwd, 'add', '--all')
      git(cwd, '-c', 'user.name=bench', '-c', 'user.email=bench@example.org', 'commit', '--quiet', '-m', message)
    }
    mkdirSync(join(repository, 'web'), { recursive: true })
    git(repository, 'init', '--quiet')
    for (const [tag, files] of [
      ['v1', base],
      ['v2', upstream],
    ] as const) {
      for (const [path, content] of files) writeFileSync(join(repository, 'web', path), content)
      commit(repository, tag)
      git(repository, 'tag', tag)
    }
    const original = join(folder, 'original')
    ours('get', `file://${repository}/.git/web@v1`, join(original, 'web'))
    for (let index = 0; index < resources / 2 / perFile; index += 10) {
      const file = join(original, 'web', `part-${index}.yaml`)
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll('tier: 1.0', 'tier: mine'))
    }
    git(original, 'init', '--quiet')
    commit(original, 'local')
    const measure = (count: number, update: (copy: string) => void): number =>
      median(
        Array.from({ length: count }, () => {
          const copy = join(folder, 'copy')
          cpSync(original, copy, { recursive: true })
          const begin = performance.now()
          update(copy)
          const time = performance.now() - begin
          rmSync(copy, { recursive: true })
          return time
        }),
      )
    const isInstalled = spawnSync('kpt', ['version']).status === 0
    const kpt = (copy: string): void =>
      void execFileSync('kpt', ['pkg', 'update', 'web@v2'], { cwd: copy, stdio: 'pipe' })
    return {
      ours: measure(rounds, (copy) => ours('update', `${join(copy, 'web')}@v2`)),
      // kpt takes minutes for as many resources.
      kpt: isInstalled ? measure(1, kpt) : undefined,
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function ours(...args: readonly string[]): void {
  const program = fileURLToPath(new URL('update-process.ts', import.meta.url))
  execFileSync(process.execPath, ['--conditions=@fairlead/source', program, ...args], { stdio: 'pipe' })
}

/** Deployments; upstream's image changes in every tenth. */
function packageFiles(image: string, tier: string, isLocal = false): PackageFiles {
  const files = new Map([['Kptfile', 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n']])
  for (let part = 0; part < resources / perFile; part++) {
    const documents = Array.from({ length: perFile }, (_, index) => {
      const number = part * perFile + index
      const comment = isLocal ? ` # kpt-merge: /web-${number}` : ''
      return deployment(
        `web-${number}`,
        comment,
        number % 10 === 0 ? image : '1.0',
        isLocal && number % 20 === 1 ? tier : '1.0',
      )
    })
    files.set(`part-${part}.yaml`, documents.join('---\n'))
  }
  return files
}

function deployment(name: string, comment: string, image: string, tier: string): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata:${comment}
  name: ${name}
  labels:
    app: ${name}
    tier: ${tier}
spec:
  replicas: 3
  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
      containers:
      - name: app
        image: example.org/app:${image}
        ports:
        - containerPort: 8080
          protocol: TCP
        env:
        - name: MODE
          value: "production"
        - name: SIZE
          value: large
        resources:
          limits:
            cpu: 500m
            memory: 128Mi
`
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
