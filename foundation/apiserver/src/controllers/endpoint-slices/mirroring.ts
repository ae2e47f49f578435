// Mirrors Endpoints of Services without a selector into EndpointSlices: the endpointslice-mirroring-controller of
// Kubernetes.
import { Service } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Informer, ObjectChange } from '@fairlead/controller'
import { formatKey, keyOf, parseKey } from '@fairlead/kube'
import { controllerManager, enqueueOn } from '../controller-context.ts'
import type { ControllerContext } from '../controller-context.ts'
import {
  EndpointSlice,
  Endpoints,
  hasSelector,
  isDone,
  managedByLabel,
  serviceNameLabel,
  writeSlices,
} from './endpoint-slice.ts'
import { maxAddresses, mirroringController, planMirror } from './mirror-plan.ts'

const byEndpoints = 'endpoints'
const managedSlices = `${managedByLabel}=${mirroringController}`

/** Sets up the controller. */
export function setUpEndpointSliceMirroring(context: ControllerContext): void {
  const events = context.manager.recorder('endpoint-slice-mirroring-controller')
  const loop = context.manager.loop<string>({
    name: 'endpointslice-mirroring-controller',
    id: (key) => key,
    concurrency: 5,
    manager: controllerManager,
    run: async (key, { client, signal }) => {
      for (const informer of [services, endpoints, slices]) {
        await informer.waitForState(signal)
        const known = informer.read()
        if (!known.known) throw known.reason
      }
      const cached = planMirror({
        endpoints: endpoints.lastKnown.get(key),
        service: services.lastKnown.get(key),
        slices: slices.lastKnown.byIndex(byEndpoints, key),
      })
      if (isDone(cached)) return
      // The caches may lack the last writes, of this controller too: a second slice would be created for the same
      // addresses, or one deleted that has new ones.
      const object = await client.find(Endpoints, key)
      const plan = planMirror({
        endpoints: object,
        service: await client.find(Service, key),
        slices: await mirrorsOf(key, client),
      })
      await writeSlices(plan, client)
      if (plan.skipped > 0 && object !== undefined && !isDone(plan)) {
        const note = `A max of ${maxAddresses} addresses can be mirrored to EndpointSlices per Endpoints subset. ${plan.skipped} addresses were skipped`
        events.about(object).warning('TooManyAddressesToMirror', note)
      }
    },
    logFields: (key) => ({ endpoints: key }),
  })
  const services = enqueueOn(context, loop, Service, ({ type, object, previous }) =>
    type === 'changed' && hasSelector(object) === hasSelector(previous) ? [] : [formatKey(keyOf(object))],
  )
  const endpoints = enqueueOn(context, loop, Endpoints, ({ object }) => [formatKey(keyOf(object))])
  const slices: Informer<EndpointSlice> = enqueueOn(context, loop, EndpointSlice, endpointsOfChange, {
    labelSelector: managedSlices,
  })
  slices.addIndex(byEndpoints, endpointsOf)
}

/** Returns the keys of the Endpoints that a slice mirrors. */
function endpointsOf({ metadata: { namespace = '', labels } }: EndpointSlice): readonly string[] {
  const name = labels?.[serviceNameLabel]
  return name ? [formatKey({ namespace, name })] : []
}

function endpointsOfChange({ object, previous }: ObjectChange<EndpointSlice>): Iterable<string> {
  return new Set([...endpointsOf(object), ...(previous === undefined ? [] : endpointsOf(previous))])
}

async function mirrorsOf(key: string, client: Client): Promise<readonly EndpointSlice[]> {
  const { namespace, name } = parseKey(key)
  const { items } = await client.list(EndpointSlice, {
    namespace: namespace!,
    labelSelector: `${managedSlices},${serviceNameLabel}=${name}`,
  })
  return items
}
