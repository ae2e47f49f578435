// Four replicas of `fairlead run --shards 4` on the API server that KUBE_APISERVER names (a real one, or ours in the
// folder of `fairlead envtest use`), over 10,000 objects of 100 namespaces, each as a service account of its own. One
// is killed in the middle: its shards move, nothing is left undone or written twice.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { kind } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { metacontroller } from '@fairlead/metacontroller'
import { manifest } from '../../../examples/stage.ts'
import type { LogLine, RunProcess } from '../../support/run-process.ts'
import { eventually } from '../../support/until.ts'
import { Checks } from '../checks.ts'
import { Installation } from './installation.ts'

const count = Number(process.argv[2] ?? 10_000)
const namespaces = 100
const shards = Number(process.argv[3] ?? 4)
const processes = 4
const prefix = 'system:serviceaccount:fairlead-system:'
/** Our own server has no audit policy: its log has the reads, too. */
const writeVerbs = new Set(['create', 'update', 'patch', 'delete'])
const labels = { copied: 'yes' }
const Secret = kind('v1', 'Secret', { plural: 'secrets', namespaced: true })

const parent = { apiVersion: 'examples.fairlead.dev/v1', kind: 'SecretPropagation' }
const controller: KubeObject = {
  apiVersion: 'metacontroller.k8s.io/v1alpha1',
  kind: 'MapController',
  metadata: { name: 'copies' },
  spec: {
    parentResource: { apiVersion: parent.apiVersion, resource: 'secretpropagations' },
    inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
    outputResources: [{ apiVersion: 'v1', resource: 'secrets' }],
    hooks: {
      map: {
        expression: `[{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": input.metadata.name, "namespace": input.metadata.namespace, "labels": {"copied": "yes"}}}]`,
      },
    },
  },
}
const rights: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'copies', labels: { 'rbac.fairlead.dev/aggregate-to-metacontroller': 'true' } },
  rules: [
    { apiGroups: ['examples.fairlead.dev'], resources: ['secretpropagations'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['examples.fairlead.dev'], resources: ['secretpropagations/status'], verbs: ['patch'] },
    { apiGroups: ['examples.fairlead.dev'], resources: ['secretpropagations/finalizers'], verbs: ['update'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  ],
}

interface AuditEvent {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly name?: string }
  readonly responseStatus?: { readonly code?: number }
}

const checks = new Checks()
await using opened = await Installation.start([metacontroller])
if (opened !== undefined) await shareAndLose(opened)
checks.close()

async function shareAndLose(installation: Installation): Promise<void> {
  const { admin, cluster } = installation
  const example = join(import.meta.dirname, '../../../examples/secret-propagation/manifests/1-crd.yaml')
  await installDefinitions(admin, manifest(example))
  await admin.apply(rights)
  await admin.apply(controller)
  const spec = { sourceNamespace: 'default', sourceName: 'none', selector: { matchLabels: labels } }
  await admin.apply({ ...parent, metadata: { name: 'all' }, spec } as KubeObject)
  const replicas: RunProcess[] = []
  for (let index = 0; index < processes; index++)
    replicas.push(
      await installation.run(`replica-${index}`, [
        '--service',
        'fairlead',
        '--webhooks=false',
        '--shards',
        String(shards),
      ]),
    )
  await eventually(() => {
    const taken = replicas.map(({ lines }) => owned(lines))
    if (taken.some((one) => one === 0))
      throw new Error(`shards: ${taken.join()}\n${replicas.map(({ log }) => log).join('\n--\n')}`)
  }, 200)
  const names = Array.from({ length: namespaces }, (_, index) => `shared-${index}`)
  await Promise.all(names.map((name) => admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })))
  const since = performance.now()
  const seconds = (): string => ((performance.now() - since) / 1000).toFixed(1)
  let next = 0
  const create = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      if (index === Math.floor(count / 2)) {
        replicas[0]!.signal('SIGKILL')
        console.log(`  replica 0 killed after ${seconds()} s, at ${index} inputs`)
      }
      await admin.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `item-${index}`, namespace: names[index % namespaces]!, labels },
      })
    }
  }
  await Promise.all(Array.from({ length: 8 }, create))
  console.log(`  ${count} inputs after ${seconds()} s`)
  let made = 0
  // As long as it goes on: how fast it is depends on what else the machine does.
  for (let before = -1; made < count && made > before;) {
    before = made
    await eventually(async () => {
      made = (await admin.list(Secret, { labelSelector: 'copied=yes', pageSize: 500 })).items.length
      if (made === before) throw new Error(`${made} outputs`)
    }, 500).catch((error: unknown) => console.log(`  ${(error as Error).message}`))
  }
  console.log(`  ${made} outputs after ${seconds()} s`)
  checks.check(made === count, `every input has its output: ${made}`)
  for (const replica of replicas.slice(1)) checks.check((await replica.stop()) === 0, 'a replica stops with 0')

  const writers = new Map<string, string[]>()
  for (const line of readFileSync(cluster.auditLog, 'utf8').split('\n')) {
    if (line === '') continue
    const { verb, user, objectRef, responseStatus } = JSON.parse(line) as AuditEvent
    if (!writeVerbs.has(verb)) continue
    if (!user.username.startsWith(prefix) || objectRef?.resource !== 'secrets' || (responseStatus?.code ?? 0) >= 300)
      continue
    // The certificates of the processes.
    if (objectRef.namespace === 'fairlead-system') continue
    const key = `${objectRef.namespace}/${objectRef.name}`
    writers.set(key, [...(writers.get(key) ?? []), user.username.slice(prefix.length)])
  }
  const twice = [...writers].filter(([, by]) => by.length > 1)
  checks.check(
    twice.length === 0,
    `${twice.length} outputs were written more than once: ${JSON.stringify(twice.slice(0, 5))}`,
  )
  const shares = Object.entries(Object.groupBy([...writers.values()].flat(), (by) => by))
  console.log(`  ${shares.map(([by, of]) => `${by} ${of?.length}`).join(', ')}`)
}

/** Returns how many shards a replica holds, by its log. */
function owned(lines: readonly LogLine[]): number {
  const counted = (message: string): number => lines.filter(({ msg }) => msg === message).length
  return counted('Took a shard') - counted('Gave a shard up') - counted('Lost a shard')
}
