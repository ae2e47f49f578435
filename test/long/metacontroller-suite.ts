// The integration tests of Metacontroller on the embedded server, with our controllers in place of its own.
// METACONTROLLER_SUITE names a folder with its test programs (`<package>.test`), which connect to FAIRLEAD_URL with
// FAIRLEAD_TOKEN and start neither a server nor controllers. Tests that may fail are in
// `metacontroller-suite-differences.json`, with the reason.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer } from '@fairlead/apiserver'
import { Manager, createLogger } from '@fairlead/controller'
import { callServices, compositeControllers, crds, decoratorControllers, parseSettings } from '@fairlead/metacontroller'
import { judge, readExceptions } from '../conformance/exceptions.ts'
import { Checks } from './checks.ts'

interface TestProgram {
  readonly name: string
  /** Number of its tests. */
  readonly tests: number
  /** Flags of Metacontroller that its tests expect. */
  readonly settings?: Readonly<Record<string, string>>
}

const labelSelector = { 'target-label-selector': 'foo=bar' }
const programs: readonly TestProgram[] = [
  { name: 'composite', tests: 8 },
  { name: 'composite_with_auth', tests: 3 },
  { name: 'composite_with_target_label_selector', tests: 2, settings: labelSelector },
  { name: 'decorator', tests: 4 },
  { name: 'decorator_with_auth', tests: 3 },
  { name: 'decorator_with_target_label_selector', tests: 2, settings: labelSelector },
]
const minutes = 60_000

async function main(): Promise<void> {
  const suite = process.env['METACONTROLLER_SUITE']
  if (suite === undefined || !existsSync(suite)) {
    console.log("METACONTROLLER_SUITE names no folder: Metacontroller's integration tests are skipped")
    return
  }
  const checks = new Checks()
  const results: { readonly name: string; readonly passed: boolean }[] = []
  for (const program of programs) {
    const outcomes = await run(join(suite, `${program.name}.test`), program)
    checks.check(outcomes.size === program.tests, `${program.name} ran ${outcomes.size} of ${program.tests} tests`)
    for (const [test, passed] of outcomes) results.push({ name: `${program.name} ${test}`, passed })
  }
  const exceptions = readExceptions(new URL('metacontroller-suite-differences.json', import.meta.url))
  const { unexpected, cured } = judge(results, exceptions)
  for (const { name } of results) checks.check(!unexpected.includes(name), `${name} failed`)
  for (const name of cured) checks.check(false, `${name} passes: it is no exception any more`)
  checks.close()
}

/** Runs the tests of a program on a server and controllers of its own; returns whether each passed. */
async function run(binary: string, { name, settings = {} }: TestProgram): Promise<ReadonlyMap<string, boolean>> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-metacontroller-suite-'))
  try {
    await using server = await ApiServer.start({})
    const { url } = await server.listen()
    const client = server.client()
    await using stack = new AsyncDisposableStack()
    const manager = stack.use(
      await Manager.start({
        client: server.client(),
        crds,
        logger: await createLogger({ level: 'error' }),
        setup: (made) => {
          const calls = stack.use(callServices(made, { resolve: new Map() }))
          const dependencies = { ...calls, settings: parseSettings(new Map(Object.entries(settings))) }
          for (const controllers of [
            compositeControllers(made, dependencies),
            decoratorControllers(made, dependencies),
          ])
            stack.defer(() => controllers.stop())
        },
      }),
    )
    const account = { namespace: 'default', name: 'metacontroller-suite' }
    await client.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account })
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec: {} }
    const path = `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`
    const answer = (await client.send({ method: 'POST', path, body: request })) as unknown as {
      readonly status: { readonly token: string }
    }
    const output = await outputOf(binary, folder, { FAIRLEAD_URL: url, FAIRLEAD_TOKEN: answer.status.token })
    const outcomes = new Map<string, boolean>()
    for (const [, result, test = ''] of output.matchAll(/^--- (PASS|FAIL): (\w+)/gm))
      outcomes.set(test, result === 'PASS')
    console.log(`${name}: ${[...outcomes.values()].filter(Boolean).length} of ${outcomes.size} passed`)
    if ([...outcomes.values()].includes(false) || outcomes.size === 0) console.log(output.slice(-8_000))
    await manager.stop()
    return outcomes
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function outputOf(binary: string, cwd: string, env: Readonly<Record<string, string>>): Promise<string> {
  const args = ['-test.v', '-test.timeout=10m']
  const child = spawn(binary, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  const timeout = setTimeout(() => child.kill('SIGKILL'), 11 * minutes)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-200_000)))
  await once(child, 'close')
  clearTimeout(timeout)
  return output
}

await main()
