// The example scripts of Metacontroller (`examples/*/test.sh`) as they are, with kubectl, on the embedded server with
// our controllers; the hook programs run as processes of this machine. METACONTROLLER_SOURCE names its source tree,
// arguments the examples to run.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer } from '@fairlead/apiserver'
import { Manager, createLogger } from '@fairlead/controller'
import { callServices, compositeControllers, crds, decoratorControllers, parseSettings } from '@fairlead/metacontroller'
import { Simulator, parseRules } from '@fairlead/simulator'
import { Checks } from '../checks.ts'
import { Node, logsOfCommand } from './node.ts'

interface Example {
  readonly name: string
  /** Flags of Metacontroller that the script expects. */
  readonly settings?: Readonly<Record<string, string>>
  /** A program that the hooks need. */
  readonly needs?: string
}

/** All but those of leader election, profiling and monitoring, which look at the process of Metacontroller itself. */
const examples: readonly Example[] = [
  { name: 'clusteredparent' },
  { name: 'configmap-list-v2' },
  { name: 'configmappropagation' },
  { name: 'crd-roles' },
  { name: 'globalconfigmap' },
  { name: 'namespace-list-v2' },
  { name: 'secretpropagation' },
  { name: 'target-label-selector', settings: { 'target-label-selector': 'controller-group=cicd' } },
  { name: 'update-strategy', settings: { 'apply-strategy': 'server-side-apply' } },
  { name: 'webhook-auth', needs: 'openssl' },
  { name: 'bluegreen' },
  { name: 'catset' },
  { name: 'daemonjob' },
  { name: 'indexedjob' },
  { name: 'service-per-pod', needs: 'jsonnet' },
  { name: 'service-per-pod-v2', needs: 'jsonnet' },
]
const minutes = 60_000
/** Scripts that run at a time: they mostly wait. */
const atATime = 4

async function main(): Promise<void> {
  const source = process.env['METACONTROLLER_SOURCE']
  if (source === undefined || !existsSync(join(source, 'examples'))) {
    console.log('METACONTROLLER_SOURCE names no source tree: the examples of Metacontroller are skipped')
    return
  }
  const missing = ['kubectl', 'python3', 'bash'].filter((program) => !isInstalled(program))
  if (missing.length > 0) {
    console.log(`There is no ${missing.join(', ')}: the examples of Metacontroller are skipped`)
    return
  }
  const checks = new Checks()
  const only = process.argv.slice(2)
  const left = examples.filter(({ name }) => only.length === 0 || only.includes(name))
  const work = async (): Promise<void> => {
    for (let example = left.shift(); example !== undefined; example = left.shift()) {
      const { name, needs } = example
      if (needs !== undefined && !isInstalled(needs)) {
        console.log(`${name}: skipped, there is no ${needs}`)
        continue
      }
      const since = performance.now()
      const problem = await run(join(source, 'examples', name), example)
      const seconds = ((performance.now() - since) / 1000).toFixed(0)
      console.log(`${name}: ${problem === undefined ? 'passed' : 'FAILED'}, ${seconds} s`)
      checks.check(problem === undefined, `${name}: ${problem}`)
    }
  }
  await Promise.all(Array.from({ length: atATime }, work))
  checks.close()
}

function isInstalled(program: string): boolean {
  return spawnSync('which', [program], { stdio: 'ignore' }).status === 0
}

/** Runs the script of an example on a server of its own. Returns what it wrote when it failed. */
async function run(folder: string, { settings = {} }: Example): Promise<string | undefined> {
  const scratch = mkdtempSync(join(tmpdir(), 'fairlead-example-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(scratch, { recursive: true, force: true }))
  const server = stack.use(await ApiServer.start({ podLogs: logsOfCommand }))
  const client = server.client()
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'metacontroller' } })
  const { kubeconfig } = await server.listen()
  const file = join(scratch, 'kubeconfig')
  writeFileSync(file, kubeconfig, { mode: 0o600 })
  const node = stack.use(new Node(scratch))
  const rules = readFileSync(new URL('simulate.yaml', import.meta.url), 'utf8')
  stack.use(
    await Manager.start({
      client,
      crds,
      logger: await createLogger({ level: 'error' }),
      setup: (manager) => {
        new Simulator(parseRules(rules, 'simulate.yaml')).setup(manager)
        node.setup(manager)
        const calls = stack.use(callServices(manager, { resolve: node.addresses }))
        const dependencies = { ...calls, settings: parseSettings(new Map(Object.entries(settings))) }
        for (const start of [compositeControllers, decoratorControllers]) {
          const controllers = start(manager, dependencies)
          stack.defer(() => controllers.stop())
        }
      },
    }),
  )
  const script = spawn('bash', ['test.sh', 'v1'], {
    cwd: folder,
    env: { ...process.env, KUBECONFIG: file },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [script.stdout, script.stderr])
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-6_000)))
  const timeout = setTimeout(() => process.kill(-script.pid!, 'SIGKILL'), 10 * minutes)
  const [code] = (await once(script, 'close')) as [number | null]
  clearTimeout(timeout)
  if (code === 0) return undefined
  return `ended with ${code}:\n${output}\nThe hooks wrote:\n${node.output.slice(-2_000)}`
}

await main()
