// A scenario: a capability with objects to reconcile and changes made meanwhile, which trials repeat under faults.
import type { ApiServer } from '@fairlead/apiserver'
import type { Client, KindLike } from '@fairlead/client'
import type { Capability, PolicyRule } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'

/** The scenario. Its objects are in the namespace `default`, in one that it makes, or cluster-scoped. */
export interface Scenario {
  readonly name: string
  readonly capability: Capability
  /** Definitions beyond the capability's own. */
  readonly definitions: readonly KubeObject[]
  /** Rights that an administrator grants to the controllers, beyond the capability's own rules. */
  readonly grants: readonly PolicyRule[]
  /** The objects that exist before a fault begins, in order. */
  readonly objects: readonly KubeObject[]
  /** Paths of the objects that the changes make superfluous, sorted: exactly these are deleted, */
  readonly deleted: readonly string[]
  /** and these may be: what was made for a write that failed. */
  readonly mayDelete?: readonly string[]
  /** Objects that exist all the time: no response may say otherwise, not even while something is unknown. */
  readonly lasting?: { readonly kind: KindLike; readonly keys: readonly string[] }
  /** The kinds whose objects are compared. */
  readonly kinds: readonly KindLike[]
  /** Starts what the capability works with, undisturbed, before the objects are applied; anew for each trial. */
  companion?(server: ApiServer): Promise<AsyncDisposable>
  /** Makes what lies outside of the cluster, anew for each trial. */
  prepare?(): void
  /** Returns the state of what lies outside of the cluster, to be compared in the end. */
  outside?(client: Client): JsonObject | Promise<JsonObject>
  /**
   * Reports whether the end state is reached, for controllers that work outside of the cluster and by the real clock:
   * their silence does not show that they are idle.
   */
  holds?(client: Client): Promise<boolean>
  /** As `holds`, of the state before a disruption. */
  begins?(client: Client): Promise<boolean>
  /** Changes objects while a fault lasts, so that some deletions are due and others would be wrong. */
  change(client: Client): Promise<void>
}

/** Returns the rights of rules, one by one: a rule each with one resource and one verb. `*` is every kind defined. */
export function singleRights(rules: readonly PolicyRule[], definitions: readonly KubeObject[]): readonly PolicyRule[] {
  return rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) =>
      resources
        .flatMap((resource) => (resource === '*' ? pluralsOf(group, definitions) : [resource]))
        .flatMap((resource) => verbs.map((verb) => ({ apiGroups: [group], resources: [resource], verbs: [verb] }))),
    ),
  )
}

function pluralsOf(group: string, definitions: readonly KubeObject[]): readonly string[] {
  return definitions
    .map(({ spec }) => spec as { readonly group: string; readonly names: { readonly plural: string } })
    .filter((spec) => spec.group === group)
    .map(({ names }) => names.plural)
}
