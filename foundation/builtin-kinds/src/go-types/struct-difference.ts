// Differences of structs in error messages: a unified diff of the JSON of two internal structs.
import type { JsonObject } from '@fairlead/kube'
import { messageType } from './message-type.ts'
import { internalMessage } from './internal-form.ts'
import { unifiedDifference } from '@fairlead/kube'

/** Formats a value as lines of Go's indented JSON. */
export function goLines(form: JsonObject): string[] {
  return JSON.stringify(form, undefined, 1)
    .replaceAll(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
    .split('\n')
}

/**
 * Returns the difference of two objects of a message (`k8s.io.api.core.v1.PersistentVolumeClaimSpec`), of all fields or
 * of those that `isShown` selects.
 */
export function structDifference(
  message: string,
  from: JsonObject,
  to: JsonObject,
  isShown: (goName: string) => boolean = () => true,
): string {
  const lines = (value: JsonObject): string[] =>
    goLines(
      Object.fromEntries(
        Object.entries(internalMessage(messageType(message), value)).filter(([name]) => isShown(name)),
      ),
    )
  return unifiedDifference(lines(from), lines(to))
}
