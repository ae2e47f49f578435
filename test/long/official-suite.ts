// The official end-to-end suite of Kubernetes (E2E_TEST names its binary `e2e.test`, of 1.35) on the embedded server:
// every spec of API machinery but those of `official-suite-skipped.json`, which need pods, controllers of others or
// features that a default server has off, and those of other groups that `official-suite-others.json` names;
// `official-suite-rest.json` says why the others of sig-apps, sig-auth and sig-cli do not run. Takes
// about 20 minutes; `--focus` runs those alone that match a regular expression. `--try-skipped` runs the skipped specs
// instead, each of which must still fail.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ApiServer } from '@fairlead/apiserver'
import { judge, readExceptions } from '../conformance/exceptions.ts'
import { findKubectl } from '../support/kubectl.ts'
import { Checks } from './checks.ts'
import { readOtherSpecs, readRestSpecs, readSkippedSpecs, specsOf } from './official-suite-report.ts'

const sig = '[sig-api-machinery]'
const skipped = readSkippedSpecs(new URL('official-suite-skipped.json', import.meta.url))
const others = readOtherSpecs(new URL('official-suite-others.json', import.meta.url))
const rest = readRestSpecs(new URL('official-suite-rest.json', import.meta.url))

async function main(): Promise<void> {
  const options = {
    'try-skipped': { type: 'boolean', default: false },
    focus: { type: 'string', default: String.raw`\[sig-api-machinery\]|${others.pattern}` },
  } as const
  const { values } = parseArgs({ options })
  const binary = process.env['E2E_TEST']
  const kubectl = findKubectl('1.33')
  if (binary === undefined || !existsSync(binary) || kubectl === undefined) {
    console.log('E2E_TEST names no binary, or kubectl is missing: the official end-to-end suite is skipped')
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-official-suite-'))
  try {
    await using server = await ApiServer.start({ authorization: 'RBAC', enabledAdmission: ['ServiceAccount'] })
    await addNode(server)
    const { kubeconfig } = await server.listen()
    const file = join(folder, 'kubeconfig')
    writeFileSync(file, kubeconfig, { mode: 0o600 })
    await run(binary, [
      `--kubeconfig=${file}`,
      `--kubectl-path=${kubectl}`,
      '--provider=skeleton',
      '--allowed-not-ready-nodes=-1',
      '--disable-log-dump',
      ...(values['try-skipped']
        ? [`--ginkgo.focus=${skipped.pattern}`]
        : [`--ginkgo.focus=${values.focus}`, `--ginkgo.skip=${skipped.pattern}`]),
      '--ginkgo.timeout=90m',
      '--ginkgo.no-color',
      `--report-dir=${folder}`,
    ])
    report(readFileSync(join(folder, 'junit_01.xml'), 'utf8'), values['try-skipped'])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Adds a ready node, without which the suite does not begin. */
async function addNode(server: ApiServer): Promise<void> {
  const now = new Date(server.clock.now()).toISOString()
  const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
  const nodes = { apiVersion: 'v1', kind: 'Node' }
  await server.client().create({ ...nodes, metadata: { name: 'node-1' } })
  // Admission taints a new node as not ready, and nothing here takes the taint off.
  await server.client().patch(nodes, 'node-1', { merge: { spec: { taints: null } } })
  await server
    .client()
    .patch(
      nodes,
      'node-1',
      { merge: { status: { conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }] } } },
      { subresource: 'status' },
    )
}

function run(binary: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    // A file in place of kubectl's cache: with the discovery of an earlier spec it would not find later CRDs.
    const env = { ...process.env, KUBECACHEDIR: binary }
    const child = spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().split('\n')) if (/^• |^Ran /.test(line)) console.log(line)
    })
    child.on('error', reject)
    child.on('close', () => resolve())
  })
}

/** Compares the results, a JUnit report, with the known differences and the skipped specs. */
function report(junit: string, triedSkipped: boolean): void {
  const checks = new Checks()
  const suite = specsOf(junit)
  const specs = suite.filter(({ name }) => name.startsWith(sig) || others.names.has(name))
  const results = specs.flatMap(({ name, status }) =>
    status === 'skipped' ? [] : [{ name, passed: status === 'passed' }],
  )
  if (triedSkipped) {
    for (const { name, passed } of results) checks.check(!passed, `passes and is still listed as skipped: ${name}`)
  } else {
    const verdict = judge(results, readExceptions(new URL('official-suite-differences.json', import.meta.url)))
    for (const { name, passed } of results)
      checks.check(passed || !verdict.unexpected.includes(name), `the official suite: ${name}`)
    for (const name of verdict.cured) checks.check(false, `agrees now and is still listed: ${name}`)
    const names = new Set(specs.map(({ name }) => name))
    for (const name of skipped.unknownTo([...names]))
      checks.check(false, `is listed as skipped, but the suite has no such spec: ${name}`)
    for (const name of others.names)
      checks.check(names.has(name), `is listed to be run, but the suite has no such spec: ${name}`)
    const all = suite.map(({ name }) => name)
    for (const name of rest.unlisted(all, others))
      checks.check(false, `neither runs nor has a reason why it does not: ${name}`)
    for (const name of rest.names)
      checks.check(all.includes(name), `has a reason why it does not run, but the suite has no such spec: ${name}`)
  }
  checks.check(results.length > 0, 'the official suite ran nothing')
  console.log(`${results.filter(({ passed }) => passed).length} of ${results.length} specs of the official suite pass`)
  checks.close()
}

await main()
