// Repeated owner references: the second is removed, with a warning.
import { marshalGoJson } from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'

/**
 * Removes repeated owner references from metadata, in place, and adds a warning. `after` names the step that added
 * them.
 */
export function dropRepeatedOwners(metadata: MutableJsonObject, warnings: string[], after = ''): void {
  const references = metadata['ownerReferences'] as readonly JsonObject[] | null | undefined
  if (!Array.isArray(references) || references.length < 2) return
  const kept = new Map<string, JsonObject>()
  const repeated: JsonValue[] = []
  for (const reference of references as readonly JsonObject[]) {
    const identity = marshalGoJson(reference)
    if (kept.has(identity)) repeated.push(reference['uid'] ?? '')
    else kept.set(identity, reference)
  }
  if (repeated.length === 0) return
  metadata['ownerReferences'] = [...kept.values()]
  const advice =
    'API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests'
  const warning = `.metadata.ownerReferences contains duplicate entries${after}; ${advice}; duplicate UID(s) observed: ${repeated.join(', ')}`
  if (!warnings.includes(warning)) warnings.push(warning)
}
