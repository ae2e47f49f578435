// The fields that the status of a kind has, by its CRD.
import type { JsonObject } from '@fairlead/kube'
import { crds } from '../generated/crds.ts'

const own = ['ackResourceMetadata', 'conditions', 'observedGeneration', 'resolvedReferences']

/** Returns the fields of a kind's status that the service fills. */
export function statusFields(kind: string): readonly string[] {
  const crd = crds.find((one) => (one as unknown as { spec: { names: { kind: string } } }).spec.names.kind === kind)
  const { versions } = (
    crd as unknown as { spec: { versions: readonly { schema: { openAPIV3Schema: JsonObject } }[] } }
  ).spec
  const { status } = (versions[0]?.schema.openAPIV3Schema['properties'] ?? {}) as Record<string, JsonObject>
  return Object.keys((status?.['properties'] ?? {}) as JsonObject).filter((name) => !own.includes(name))
}
