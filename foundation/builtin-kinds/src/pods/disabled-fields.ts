// Fields of a pod's spec whose feature gates are off in Kubernetes 1.35: they are accepted, tracked, and dropped.
import type { MutableJsonObject } from '@fairlead/kube'
import { draftAt, draftsAt, has } from '../fields.ts'

/** Drops the fields of a new or changed spec. */
export function dropDisabledFields(spec: MutableJsonObject | undefined): void {
  if (spec === undefined) return
  delete spec['workloadRef']
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'])
    for (const container of draftsAt(spec, list)) dropStopSignal(container)
  for (const volume of draftsAt(spec, 'volumes')) {
    for (const source of draftsAt(volume, 'projected', 'sources')) {
      delete source['clusterTrustBundle']
      delete source['podCertificate']
    }
  }
}

function dropStopSignal(container: MutableJsonObject): void {
  const lifecycle = draftAt(container, 'lifecycle')
  if (lifecycle === undefined || !has(lifecycle, 'stopSignal')) return
  delete lifecycle['stopSignal']
  if (Object.keys(lifecycle).length === 0) delete container['lifecycle']
}
