// Records an Event on Pods, Deployments and Jobs that nothing runs: this server only stores them, and their users
// should not wait in vain.
import { Deployment, kind, KubeEvent, Pod } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { after } from '@fairlead/controller'
import type { Informer, Result } from '@fairlead/controller'
import {
  formatKey,
  formatMicroTime,
  isAlreadyExists,
  isNamespaceTerminating,
  isNotFound,
  isTerminating,
  keyOf,
} from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { enqueueOn } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

/** The reporting controller of the Events. */
const controller = 'fairlead-apiserver'

/** Time in which another controller must pick up an object before it counts as idle. Milliseconds. */
const gracePeriod = 10_000

type WithStatus = KubeObject & { readonly status?: { readonly [field: string]: unknown } }

interface Workload {
  readonly kind: Kind<WithStatus>
  /** Returns true while nothing runs the object. */
  isIdle(object: WithStatus): boolean
  readonly note: string
}

const workloads: readonly Workload[] = [
  {
    kind: Pod as Kind<WithStatus>,
    isIdle: ({ spec, status }) =>
      !(spec as { nodeName?: string } | undefined)?.nodeName &&
      !status?.['conditions'] &&
      status?.['phase'] !== 'Running',
    note: 'Nothing runs Pods here: this API server has no nodes, so the containers never start. Set the status by rules with `fairlead up --simulate FILE`, or use a real cluster.',
  },
  {
    kind: Deployment as Kind<WithStatus>,
    isIdle: ({ status }) => status?.['observedGeneration'] === undefined,
    note: 'Nothing runs Deployments here: no Pods are made and the status stays empty. Set the status by rules with `fairlead up --simulate FILE`, or use a real cluster.',
  },
  {
    kind: kind('batch/v1', 'Job', { plural: 'jobs', namespaced: true }),
    isIdle: ({ status }) => status?.['startTime'] === undefined && status?.['conditions'] === undefined,
    note: 'Nothing runs Jobs here: no Pods are made and the Job never finishes. Run them on this machine with `fairlead up --run-jobs=process` (or podman, docker), set the status by rules with `--simulate FILE`, or use a real cluster.',
  },
]

/** Sets up the controller. */
export function setUpIdleWorkloads(context: ControllerContext): void {
  for (const workload of workloads) setUpIdleWorkload(context, workload)
}

function setUpIdleWorkload(context: ControllerContext, workload: Workload): void {
  const { clock } = context.manager
  const needsEvent = (object: WithStatus): boolean => !isTerminating(object) && workload.isIdle(object)
  const loop = context.manager.loop<string>({
    name: `idle-${workload.kind.plural}`,
    id: (key) => key,
    manager: controller,
    run: async (key, { client }): Promise<Result> => {
      const object = objects.lastKnown.get(key)
      if (object === undefined || !needsEvent(object)) return undefined
      const left = Date.parse(object.metadata.creationTimestamp ?? '') + gracePeriod - clock.now()
      if (left > 0) return after(left)
      try {
        await client.create(eventFor(object, workload.note, clock.now()))
      } catch (error) {
        if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error
      }
      return undefined
    },
    logFields: (key) => ({ kind: workload.kind.kind, key }),
  })
  const objects: Informer<WithStatus> = enqueueOn(context, loop, workload.kind, ({ type, object }) =>
    type === 'added' && needsEvent(object) ? [formatKey(keyOf(object))] : [],
  )
}

/** Returns the Event of an object. Its name contains the object's uid, so that it exists only once. */
function eventFor(object: KubeObject, note: string, now: number): KubeEvent {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = object.metadata
  return {
    apiVersion: KubeEvent.apiVersion,
    kind: KubeEvent.kind,
    metadata: { namespace, name: `${name.slice(0, 200)}.${uid.replaceAll('-', '').slice(0, 16)}` },
    eventTime: formatMicroTime(now),
    type: 'Warning',
    reason: 'NothingRunsThis',
    action: 'Run',
    note,
    reportingController: controller,
    reportingInstance: controller,
    regarding: { apiVersion: object.apiVersion, kind: object.kind, namespace, name, uid, resourceVersion },
  }
}
