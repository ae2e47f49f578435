// Keeps the status of ResourceQuotas: their limits, and the usage of what is stored. Admission charges new objects;
// this controller measures again after deletions, changes and failed writes.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { after } from '@fairlead/controller'
import { formatKey, jsonEqual, keyOf, parseKey } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { QuotaLedger } from '../admission/limits/quota-ledger.ts'
import type { ResourceQuota } from '../admission/limits/quota-scope.ts'
import { controllerManager, enqueueOn } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

/** The period of the real controller, in milliseconds: pods also end by the passing of their grace period. */
const resyncPeriod = 300_000

/** Milliseconds until a new limit is measured again: writes that began before it were not charged. */
const recheckDelay = 1000

const Quota: Kind<ResourceQuota> = kind('v1', 'ResourceQuota', { plural: 'resourcequotas', namespaced: true })

/** Resources whose usage may change with an update. */
const changing: ReadonlySet<string> = new Set(['/Pod', '/Service', '/PersistentVolumeClaim'])

/** Sets up the controller; without a ledger (outside the server) there is none. */
export function setUpResourceQuotas(context: ControllerContext, ledger: QuotaLedger | undefined): void {
  if (ledger === undefined) return
  const loop = context.manager.loop<string>({
    name: 'resourcequota-controller',
    id: (key) => key,
    concurrency: 5,
    manager: controllerManager,
    run: async (key) => {
      const { namespace, name } = parseKey(key)
      return after((await ledger.recalculate(namespace, name)) ? recheckDelay : resyncPeriod)
    },
    logFields: (key) => ({ resourceQuota: key }),
  })
  const enqueue = (namespace: string): void => {
    for (const key of ledger.keysOf(namespace)) loop.queue.addAfter(key, context.delay)
  }
  enqueueOn(context, loop, Quota, ({ type, object, previous }) =>
    type === 'changed' && jsonEqual(specOf(object), specOf(previous)) ? [] : [formatKey(keyOf(object))],
  )
  context.onStop(ledger.onRelease(enqueue))
  context.onStop(
    context.allResources().subscribe({
      changed: ({ group, kind: name }, { type, object }) => {
        if (type === 'removed' || (type === 'changed' && changing.has(`${group}/${name}`)))
          enqueue(object.metadata.namespace ?? '')
      },
    }),
  )
}

function specOf(quota: ResourceQuota | undefined): JsonValue {
  return (quota?.spec ?? {}) as JsonValue
}
