// Checks of the definitions of a capability: whether they are there, served, and those of this version.
import { CustomResourceDefinition } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Capability } from '@fairlead/controller'
import { isConditionTrue, isForbidden, isJsonArray, isJsonObject, jsonEqual } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'

/** The outcome for a capability. */
export interface DefinitionCheck {
  readonly finding: Finding
  /** False when none of the definitions is there. */
  readonly isInstalled: boolean
}

/** Compares the definitions of a capability with those in the cluster. */
export async function checkDefinitions({ name, crds }: Capability, client: Client): Promise<DefinitionCheck> {
  const check = `definitions of ${name}`
  const repair = `fairlead install --only ${name} | kubectl apply -f -`
  let live: (CustomResourceDefinition | undefined)[]
  try {
    live = await Promise.all(crds.map(({ metadata }) => client.find(CustomResourceDefinition, metadata.name!)))
  } catch (error) {
    if (!isForbidden(error)) throw error
    return { isInstalled: true, finding: warn(check, `cannot be read with these rights: ${error.message}`) }
  }
  const named = (those: readonly (string | undefined)[]): string => those.join(', ')
  const missing = crds.filter((_, index) => live[index] === undefined).map(({ metadata }) => metadata.name)
  if (missing.length === crds.length)
    return { isInstalled: false, finding: warn(check, `${name} is not installed; if it should be: ${repair}`) }
  const found = crds.flatMap((wanted, index) => (live[index] === undefined ? [] : [{ wanted, is: live[index] }]))
  const unserved = found.filter(({ is }) => !isConditionTrue(is.status?.conditions, 'Established'))
  const others = found.filter(({ wanted, is }) => !isSameDefinition(wanted, is))
  const finding = ((): Finding => {
    if (missing.length > 0) return fail(check, `missing: ${named(missing)}; ${repair}`)
    if (unserved.length > 0)
      return fail(
        check,
        `not established: ${named(unserved.map(({ wanted }) => wanted.metadata.name))}; kubectl describe crd says why`,
      )
    if (others.length > 0)
      return warn(
        check,
        `not those of this version: ${named(others.map(({ wanted }) => wanted.metadata.name))}; ${repair}`,
      )
    return ok(check, crds.length === 1 ? 'is that of this version' : `all ${crds.length} are those of this version`)
  })()
  return { isInstalled: true, finding }
}

/** Compares what decides about objects: versions with their schemas; the server adds defaults elsewhere. */
function isSameDefinition(wanted: KubeObject, live: KubeObject): boolean {
  const versionsOf = ({ spec }: KubeObject): JsonValue =>
    (spec as { versions: readonly Readonly<Record<string, JsonValue>>[] }).versions.map(
      ({ name, served, storage, schema }): JsonObject => ({
        name: name!,
        served: served!,
        storage: storage!,
        schema: withoutEmpty(schema!),
      }),
    )
  return jsonEqual(versionsOf(wanted), versionsOf(live))
}

/** Drops empty values of a schema: Go's encoder leaves most of them out (`properties: {}`, `nullable: false`). */
function withoutEmpty(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withoutEmpty)
  if (!isJsonObject(value)) return value
  const kept = Object.entries(value)
    .map(([key, inner]) => [key, withoutEmpty(inner)] as const)
    .filter(([, inner]) => inner !== false && inner !== '' && !(typeof inner === 'object' && isEmpty(inner)))
  return Object.fromEntries(kept)
}

function isEmpty(value: JsonObject | readonly JsonValue[] | null): boolean {
  return value !== null && Object.keys(value).length === 0
}
