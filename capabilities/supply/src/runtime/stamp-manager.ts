// The field managers of stamped objects: one for each owner (docs/decisions/0102), which takes over the fields of
// managers that wrote the object for the same owner before.
import { createHash } from 'node:crypto'
import type { Patch } from '@fairlead/client'
import { formatKey, isJsonObject, keyOf } from '@fairlead/kube'
import type { JsonObject, KubeObject, ManagedFieldsEntry, MutableJsonObject } from '@fairlead/kube'

/** Managers that wrote stamped objects before: Cartographer, and this controller before each owner had a manager. */
const earlierManagers: readonly string[] = ['cartographer', 'fairlead']

/**
 * Returns the field manager of the objects of one owner: two owners that create an object of one name at the same time
 * conflict because their managers differ. It is made from the identity, so that an owner that is created again has it.
 */
export function stampManager(owner: KubeObject): string {
  const digest = createHash('sha256')
    .update(`${owner.kind}/${formatKey(keyOf(owner))}`)
    .digest('hex')
  return `fairlead-supply-${digest.slice(0, 10)}`
}

/**
 * Returns the patch that makes the fields of earlier managers those that `manager` applied, so that it can remove them;
 * undefined when there are none. Creations by `manager` itself count: they are updates, not applies.
 */
export function takeover({ metadata }: KubeObject, manager: string): Patch | undefined {
  const { managedFields = [], resourceVersion = '' } = metadata
  const isEarlier = (entry: ManagedFieldsEntry): boolean =>
    entry.subresource === undefined &&
    ((earlierManagers.includes(entry.manager ?? '') && stamped(entry)) ||
      (entry.manager === manager && entry.operation === 'Update'))
  const earlier = managedFields.filter(isEarlier)
  const [first] = earlier
  if (first === undefined) return undefined
  const isOurs = (entry: ManagedFieldsEntry): boolean =>
    entry.subresource === undefined && entry.manager === manager && entry.operation === 'Apply'
  const ours = managedFields.find(isOurs)
  const fieldsV1 = [...(ours === undefined ? [] : [ours]), ...earlier].reduce<JsonObject>(
    (all, entry) => union(all, entry.fieldsV1 ?? {}),
    {},
  )
  const entry: ManagedFieldsEntry = { ...(ours ?? first), manager, operation: 'Apply', fieldsV1 }
  const others = managedFields.filter((one) => !isEarlier(one) && !isOurs(one))
  return {
    json: [
      { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
      { op: 'replace', path: '/metadata/managedFields', value: [...others, entry] as never },
    ],
  }
}

/** Reports whether a manager stamped the object: it set labels of ours. Others may have the same name. */
function stamped({ fieldsV1 = {} }: ManagedFieldsEntry): boolean {
  const metadata = fieldsV1['f:metadata']
  const labels = isJsonObject(metadata) ? metadata['f:labels'] : undefined
  return isJsonObject(labels) && Object.keys(labels).some((name) => name.startsWith('f:carto.run/'))
}

function union(left: JsonObject, right: JsonObject): JsonObject {
  const all: MutableJsonObject = { ...left }
  for (const [name, fields] of Object.entries(right)) {
    const known = left[name]
    all[name] = isJsonObject(known) && isJsonObject(fields) ? union(known, fields) : fields
  }
  return all
}
