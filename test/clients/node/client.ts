// The official Node client in the roles of client-program.ts. Arguments: informer NAMESPACE | elect NAMESPACE NAME
// IDENTITY | apply NAMESPACE.
import {
  ApiException,
  CoordinationV1Api,
  CoreV1Api,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  V1MicroTime,
} from '@kubernetes/client-node'
import type { V1ConfigMap, V1Lease } from '@kubernetes/client-node'
import { setTimeout as delay } from 'node:timers/promises'

const config = new KubeConfig()
config.loadFromDefault()
const core = config.makeApiClient(CoreV1Api)
const [role, namespace = 'default', name = '', identity = ''] = process.argv.slice(2)

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const inputEnded = new Promise<void>((resolve) => process.stdin.on('end', resolve).resume())

async function informer(): Promise<void> {
  const objects: Record<string, string> = {}
  const watched = makeInformer(
    config,
    `/api/v1/namespaces/${namespace}/configmaps`,
    () => core.listNamespacedConfigMap({ namespace, labelSelector: 'seen=yes' }),
    'seen=yes',
  )
  const print = (event: string, object: V1ConfigMap): void => {
    const key = object.metadata?.name ?? ''
    const n = object.data?.['n'] ?? ''
    if (event === 'delete') delete objects[key]
    else objects[key] = n
    say({ event, name: key, n })
  }
  for (const event of ['add', 'update', 'delete'] as const) watched.on(event, (object) => print(event, object))
  watched.on('error', () => void delay(100).then(() => watched.start()))
  await watched.start()
  say({ event: 'synced' })
  await inputEnded
  say({ event: 'cache', objects })
  process.exit(0)
}

/** The client has no election of its own: one by its Lease API and optimistic locking, as its users write it. */
async function elect(): Promise<void> {
  const leases = config.makeApiClient(CoordinationV1Api)
  const seconds = 2
  let leads = false
  for (;;) {
    const now = new V1MicroTime()
    const held = await tryToHold(now)
    if (held !== leads) say({ event: held ? 'leading' : 'stopped' })
    leads = held
    await delay(300)
  }

  async function tryToHold(now: V1MicroTime): Promise<boolean> {
    const spec = { holderIdentity: identity, leaseDurationSeconds: seconds, renewTime: now, acquireTime: now }
    try {
      const lease: V1Lease = await leases.readNamespacedLease({ namespace, name })
      // Typed as a V1MicroTime, read as a string.
      const renewed = new Date(String(lease.spec?.renewTime ?? 0)).getTime()
      const isExpired = now.getTime() - renewed > seconds * 1000
      if (lease.spec?.holderIdentity !== identity && !isExpired) return false
      await leases.replaceNamespacedLease({ namespace, name, body: { ...lease, spec: { ...lease.spec, ...spec } } })
      return true
    } catch (error) {
      if (!(error instanceof ApiException)) throw error
      if (error.code === 409) return false
      if (error.code !== 404) throw error
      await leases.createNamespacedLease({ namespace, body: { metadata: { name }, spec } })
      return true
    }
  }
}

async function apply(): Promise<void> {
  const send = async (
    step: string,
    fieldManager: string,
    data: Record<string, string>,
    force: boolean,
  ): Promise<void> => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data }
    try {
      const object = await core.patchNamespacedConfigMap(
        { namespace, name: 'applied', body, fieldManager, force },
        setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
      )
      say({
        event: 'applied',
        step,
        data: object.data ?? {},
        managers: (object.metadata?.managedFields ?? [])
          .map((entry) => `${entry.manager} ${entry.operation}`)
          .toSorted(),
      })
    } catch (error) {
      if (!(error instanceof ApiException)) throw error
      say({
        event: 'refused',
        step,
        code: error.code,
        reason: (JSON.parse(String(error.body)) as { reason: string }).reason,
      })
    }
  }
  await send('create', 'one', { a: '1', b: '1' }, false)
  await send('conflict', 'two', { a: '2' }, false)
  await send('force', 'two', { a: '2' }, true)
  await send('drop', 'one', { c: '3' }, false)
}

if (role === 'informer') await informer()
else if (role === 'elect') await elect()
else await apply()
process.exit(0)
