// Three replicas of `fairlead run` on the API server that KUBE_APISERVER names (a real one, or ours in the folder of
// `fairlead envtest use`) under load, each as a service account of its own. The leader is killed, or frozen until
// another leads, again and again. The audit log says who wrote what: the writes of two leaders never interleave, and
// nothing is left undone.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CustomResourceDefinition, Lease, kind } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import { metacontroller } from '@fairlead/metacontroller'
import { manifest } from '../../../examples/stage.ts'
import type { RunProcess } from '../../support/run-process.ts'
import { eventually } from '../../support/until.ts'
import { Checks } from '../checks.ts'
import { Installation } from './installation.ts'

const example = join(import.meta.dirname, '../../../examples/secret-propagation/manifests')
const rounds = Number(process.argv[2] ?? 6)
/** Milliseconds of work between a takeover and the next disruption. */
const work = 10_000
const Secret = kind('v1', 'Secret', { plural: 'secrets', namespaced: true })
/** The Secret of every namespace. */
const copyName = 'shared'
const lease = { namespace: 'fairlead-system', name: 'fairlead' }
const prefix = 'system:serviceaccount:fairlead-system:'
/** Our own server has no audit policy: its log has the reads, too. */
const writeVerbs = new Set(['create', 'update', 'patch', 'delete'])

interface AuditEvent {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly name?: string }
  readonly responseStatus?: { readonly code?: number }
  readonly requestReceivedTimestamp: string
}

const checks = new Checks()
await using opened = await Installation.start([metacontroller])
if (opened !== undefined) await disrupt(opened)
checks.close()

async function disrupt(installation: Installation): Promise<void> {
  const { admin, cluster } = installation
  for (const file of ['1-crd.yaml', '2-rbac.yaml', '3-controller.yaml', '4-namespaces.yaml', '5-secret.yaml'])
    for (const object of manifest(join(example, file)))
      if (object.kind === CustomResourceDefinition.kind) await installDefinitions(admin, [object])
      else await admin.apply(object)
  const start = (account: string): Promise<RunProcess> =>
    installation.run(account, ['--service', 'fairlead', '--webhooks=false'])
  const replicas = new Map<string, RunProcess>()
  for (const account of ['a', 'b', 'c']) replicas.set(account, await start(account))
  const holder = async (): Promise<string | undefined> =>
    (await admin.find(Lease, lease))?.spec?.holderIdentity ?? undefined
  const leader = async (): Promise<string> => {
    const identity = await holder()
    const found = [...replicas].find(([, replica]) => replica.identity === identity)
    if (found === undefined) throw new Error(`${String(identity)} leads, which does not run`)
    return found[0]
  }

  let [created, stopping] = [0, false]
  const load = (async () => {
    while (!stopping) {
      const metadata = { name: `load-${created++}`, labels: { receives: 'shared-secret' } }
      await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata })
      await delay(100)
    }
  })()

  const takeovers: number[] = []
  for (let round = 0; round < rounds; round++) {
    const old = await eventually(leader, 100)
    await delay(work)
    const isKill = round % 3 !== 2
    const since = performance.now()
    const stopped = replicas.get(old)!
    replicas.delete(old)
    stopped.signal(isKill ? 'SIGKILL' : 'SIGSTOP')
    const next = await eventually(leader, 50)
    takeovers.push((performance.now() - since) / 1000)
    console.log(`  ${old} ${isKill ? 'killed' : 'frozen'}, ${next} leads after ${takeovers.at(-1)!.toFixed(1)} s`)
    if (!isKill) {
      stopped.signal('SIGCONT')
      checks.check((await stopped.ended()) === 4, 'a leader that was frozen ends with 4')
    }
    replicas.set(old, await start(old))
  }
  stopping = true
  await load
  let missing = -1
  await eventually(async () => {
    const { items } = await admin.list(Secret, { fieldSelector: `metadata.name=${copyName}` })
    missing = created + 3 - items.length
    if (missing > 0) throw new Error(`${missing} of ${created} copies are missing`)
  }, 200).catch((error: unknown) => console.log(`  ${(error as Error).message}`))
  checks.check(missing === 0, 'every namespace has its copy')
  for (const replica of replicas.values()) checks.check((await replica.stop()) === 0, 'a replica stops with 0')

  const writes = readFileSync(cluster.auditLog, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(
      ({ verb, user, objectRef }) =>
        // The certificates of each process are a Secret, too.
        writeVerbs.has(verb) &&
        user.username.startsWith(prefix) &&
        objectRef?.resource === 'secrets' &&
        objectRef.name === copyName,
    )
    .toSorted((one, other) => (one.requestReceivedTimestamp < other.requestReceivedTimestamp ? -1 : 1))
  const terms = writes.reduce(
    (count, { user }, index) => count + (user.username === writes[index - 1]?.user.username ? 0 : 1),
    0,
  )
  checks.check(terms <= rounds + 1, `the writes of leaders interleave: ${terms} terms in ${rounds} takeovers`)
  const writers = new Map<string, string[]>()
  for (const { user, objectRef, responseStatus } of writes)
    if ((responseStatus?.code ?? 0) < 300)
      writers.set(objectRef!.namespace!, [...(writers.get(objectRef!.namespace!) ?? []), user.username])
  const twice = [...writers].filter(([, by]) => by.length > 1)
  checks.check(twice.length === 0, `written more than once: ${JSON.stringify(twice.slice(0, 5))}`)
  console.log(
    `  ${created} namespaces, ${writes.length} writes in ${terms} terms; takeovers ${takeovers.map((one) => one.toFixed(1)).join(', ')} s`,
  )
}
