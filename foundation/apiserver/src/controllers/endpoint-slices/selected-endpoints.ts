// Creates the EndpointSlices and Endpoints of Services from the Pods that their selectors match: the
// endpointslice-controller and the endpoints-controller of Kubernetes.
import type { Client } from '@fairlead/client'
import { kind } from '@fairlead/client'
import type { Informer, ObjectChange, WorkLoop } from '@fairlead/controller'
import { formatKey, isAlreadyExists, isNamespaceTerminating, isNotFound, keyOf, parseKey } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { controllerManager, enqueueOn } from '../controller-context.ts'
import type { ControllerContext } from '../controller-context.ts'
import {
  EndpointSlice,
  Endpoints,
  isDone,
  leaderAnnotation,
  managedByLabel,
  serviceNameLabel,
  writeSlices,
} from './endpoint-slice.ts'
import { planEndpoints } from './endpoints-plan.ts'
import { SelectingService, ServingPod, changesEndpoints, hasEndpoints, selects } from './selected-pods.ts'
import { planSlices, sliceController } from './slice-plan.ts'
import { TriggerTimes } from './trigger-times.ts'

const Node = kind('v1', 'Node', { plural: 'nodes', namespaced: false })
const byService = 'service'
const managedSlices = `${managedByLabel}=${sliceController}`
/** The work item, enqueued at startup, for all Endpoints without a Service. */
const leftovers = ''

/** Sets up the controller of EndpointSlices. */
export function setUpEndpointSlices(context: ControllerContext): void {
  const times = new TriggerTimes()
  const loop = context.manager.loop<string>({
    name: 'endpointslice-controller',
    id: (key) => key,
    concurrency: 5,
    manager: controllerManager,
    run: async (key, { client, signal }) => {
      await allKnown([services, pods, slices, nodes], signal)
      const cached = services.lastKnown.get(key)
      if (cached === undefined) return times.forget(key)
      if (!hasEndpoints(cached)) return
      const selected = pods.lastKnown.list({ namespace: parseKey(key).namespace! })
      const triggerTime = times.next(
        key,
        cached,
        selected.filter(({ metadata }) => selects(cached, metadata.labels)),
      )
      const node = (name: string): KubeObject | undefined => nodes.lastKnown.get(name)
      const state = { service: cached, pods: selected, node, triggerTime }
      if (isDone(planSlices({ ...state, slices: slices.lastKnown.byIndex(byService, key) }))) return
      // The cache may lack the last writes, of this controller too: a second slice would be created otherwise.
      const service = await client.find(SelectingService, key)
      if (service === undefined || !hasEndpoints(service)) return
      await writeSlices(planSlices({ ...state, service, slices: await slicesOf(key, client) }), client)
    },
    logFields: (key) => ({ service: key }),
  })
  const services = enqueueServices(context, loop)
  const pods = enqueuePods(context, loop, services)
  const nodes = enqueueOn(context, loop, Node, () => [])
  const slices: Informer<EndpointSlice> = enqueueOn(
    context,
    loop,
    EndpointSlice,
    ({ object, previous }) => new Set([...servicesOf(object), ...(previous === undefined ? [] : servicesOf(previous))]),
  )
  slices.addIndex(byService, servicesOf)
}

/** Sets up the controller of Endpoints. */
export function setUpEndpoints(context: ControllerContext): void {
  const times = new TriggerTimes()
  const loop = context.manager.loop<string>({
    name: 'endpoints-controller',
    id: (key) => key,
    concurrency: 5,
    manager: controllerManager,
    run: async (key, { client, signal }) => {
      await allKnown([services, pods, endpoints], signal)
      if (key === leftovers) {
        for (const found of endpoints.lastKnown.values())
          if (!isLock(found) && !services.lastKnown.has(keyOf(found))) await deleteWithoutService(found, client)
        return
      }
      const cached = services.lastKnown.get(key)
      if (cached === undefined) {
        times.forget(key)
        const found = await client.find(Endpoints, key)
        if (found !== undefined) await deleteWithoutService(found, client)
        return
      }
      if (!hasEndpoints(cached)) return
      const selected = pods.lastKnown
        .list({ namespace: parseKey(key).namespace! })
        .filter(({ metadata }) => selects(cached, metadata.labels))
      const triggerTime = times.next(key, cached, selected)
      if (planEndpoints(cached, selected, endpoints.lastKnown.get(key), triggerTime) === undefined) return
      const service = await client.find(SelectingService, key)
      if (service === undefined || !hasEndpoints(service)) return
      const found = await client.find(Endpoints, key)
      const wanted = planEndpoints(service, selected, found, triggerTime)
      if (wanted === undefined) return
      if (found === undefined) await createEndpoints(wanted, client)
      else await client.update(wanted)
    },
    logFields: (key) => ({ service: key }),
  })
  const services = enqueueServices(context, loop)
  const pods = enqueuePods(context, loop, services)
  const endpoints = enqueueOn(context, loop, Endpoints, ({ type, object }) =>
    type === 'removed' ? [formatKey(keyOf(object))] : [],
  )
  loop.queue.add(leftovers)
}

function enqueueServices(context: ControllerContext, loop: WorkLoop<string>): Informer<SelectingService> {
  return enqueueOn(context, loop, SelectingService, ({ object }) => [formatKey(keyOf(object))])
}

/** Enqueues the Services that select a Pod, before or after a change of what its endpoints depend on. */
function enqueuePods(
  context: ControllerContext,
  loop: WorkLoop<string>,
  services: Informer<SelectingService>,
): Informer<ServingPod> {
  return enqueueOn(context, loop, ServingPod, ({ type, object, previous, initial }: ObjectChange<ServingPod>) => {
    // All Services are enqueued at the start.
    if (initial || (type === 'changed' && !changesEndpoints(object, previous))) return []
    return services.lastKnown
      .list({ namespace: object.metadata.namespace! })
      .filter(
        (service) => selects(service, object.metadata.labels) || selects(service, previous?.metadata.labels ?? {}),
      )
      .map((service) => formatKey(keyOf(service)))
  })
}

/** Waits until informers have listed their objects; throws when the objects of one are not known. */
async function allKnown(informers: readonly KnownSource[], signal: AbortSignal): Promise<void> {
  for (const informer of informers) {
    await informer.waitForState(signal)
    const known = informer.read()
    if (!known.known) throw known.reason
  }
}

interface KnownSource {
  waitForState(signal: AbortSignal): Promise<unknown>
  read(): { readonly known: true } | { readonly known: false; readonly reason: Error }
}

/** Returns the key of the Service whose slice of this controller an object is. */
function servicesOf({ metadata: { namespace = '', labels } }: EndpointSlice): readonly string[] {
  const name = labels?.[managedByLabel] === sliceController ? labels[serviceNameLabel] : undefined
  return name ? [formatKey({ namespace, name })] : []
}

async function slicesOf(key: string, client: Client): Promise<readonly EndpointSlice[]> {
  const { namespace, name } = parseKey(key)
  const labelSelector = `${managedSlices},${serviceNameLabel}=${name}`
  return (await client.list(EndpointSlice, { namespace: namespace!, labelSelector })).items
}

async function createEndpoints(endpoints: Endpoints, client: Client): Promise<void> {
  try {
    await client.create(endpoints)
  } catch (error) {
    if (!isNamespaceTerminating(error) && !isAlreadyExists(error)) throw error
  }
}

/** Reports whether Endpoints are a lock of leader election, which has no Service. */
function isLock({ metadata }: Endpoints): boolean {
  return metadata.annotations?.[leaderAnnotation] !== undefined
}

/** Deletes Endpoints if there is no Service of their name. */
async function deleteWithoutService(endpoints: Endpoints, client: Client): Promise<void> {
  const key = keyOf(endpoints)
  if ((await client.find(SelectingService, key)) !== undefined) return
  const { uid, resourceVersion } = endpoints.metadata
  try {
    await client.delete(Endpoints, key, { preconditions: { uid: uid!, resourceVersion: resourceVersion! } })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
