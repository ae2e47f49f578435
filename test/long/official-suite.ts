// The official end-to-end suite of Kubernetes (E2E_TEST names its binary `e2e.test`, of 1.35) on the embedded server: what it asks of API machinery, as far
// as nothing has to run in a pod. Takes about ten minutes.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer } from '@fairlead/apiserver'
import { judge, readExceptions } from '../conformance/exceptions.ts'
import { findKubectl } from '../support/kubectl.ts'
import { Checks } from './checks.ts'

const focus = String.raw`\[sig-api-machinery\]`

/** Parts of names: specs that want a kubelet, other controllers than ours, or what the server says that it has not. */
const skipped = [
  'AdmissionWebhook',
  'ConversionWebhook',
  'CustomResourceFieldSelectors',
  'Aggregator',
  'Aggregated APIServer',
  'aggregated',
  'sample API',
  'set the deletionTimestamp',
  'all pods are removed',
  'delete fast enough',
  'namespace deletion',
  'Garbage',
  'ResourceQuota',
  'MutatingAdmission',
  'priority and',
  'CoordinatedLeader',
  'StorageVersion',
  'identity',
  'CBOR',
  'Etcd failure',
  'Disruptive',
  'Flaky',
  'Slow',
]

async function main(): Promise<void> {
  const binary = process.env['E2E_TEST']
  const kubectl = findKubectl('1.33')
  if (binary === undefined || !existsSync(binary) || kubectl === undefined) {
    console.log('E2E_TEST names no binary, or kubectl is missing: the official end-to-end suite is skipped')
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-official-suite-'))
  try {
    await using server = await ApiServer.start({ authorization: 'RBAC' })
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
      `--ginkgo.focus=${focus}`,
      `--ginkgo.skip=${skipped.join('|')}`,
      '--ginkgo.timeout=40m',
      '--ginkgo.no-color',
      `--report-dir=${folder}`,
    ])
    report(readFileSync(join(folder, 'junit_01.xml'), 'utf8'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The suite begins when a node is ready. */
async function addNode(server: ApiServer): Promise<void> {
  const now = new Date(server.clock.now()).toISOString()
  const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
  await server.client().create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } })
  await server
    .client()
    .patch(
      { apiVersion: 'v1', kind: 'Node' },
      'node-1',
      { merge: { status: { conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }] } } },
      { subresource: 'status' },
    )
}

function run(binary: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().split('\n')) if (/^• |^Ran /.test(line)) console.log(line)
    })
    child.on('error', reject)
    child.on('close', () => resolve())
  })
}

/** Holds the results, in JUnit's form, against the known differences. */
function report(junit: string): void {
  const checks = new Checks()
  const results = [...junit.matchAll(/<testcase name="([^"]*)"[^>]*status="(passed|failed|timedout|panicked)"/g)]
    .map(([, name = '', status]) => ({ name: plainName(name), passed: status === 'passed' }))
    .filter(({ name }) => name.startsWith('[sig-api-machinery]'))
  const verdict = judge(results, readExceptions(new URL('official-suite-differences.json', import.meta.url)))
  for (const { name, passed } of results)
    checks.check(passed || !verdict.unexpected.includes(name), `the official suite: ${name}`)
  for (const name of verdict.cured) checks.check(false, `agrees now and is still listed: ${name}`)
  checks.check(results.length > 0, 'the official suite ran nothing')
  console.log(`${results.filter(({ passed }) => passed).length} of ${results.length} specs of the official suite pass`)
  checks.close()
}

/** A name without the kind of node that JUnit's form puts before it. */
function plainName(name: string): string {
  return name
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/^\[It\] /, '')
}

await main()
