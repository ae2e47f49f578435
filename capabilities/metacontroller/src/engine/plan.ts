// The actions on the outputs of one group, as data: the controller carries them out, the commands print them. Start
// with planGroup.
import type { KubeObject } from '@fairlead/kube'
import { controllerOf, isTerminating } from '@fairlead/kube'
import type { Configuration, Provenance } from './configuration.ts'
import { configurationOf, isAsApplied, isEquivalent, outputOwner } from './configuration.ts'
import { isOutputOfParent, outputRole } from './group.ts'
import type { Identity } from './identity.ts'
import { formatIdentity, identityOf } from './identity.ts'
import type { OutputKind } from './resource.ts'
import { tagOf } from './tag.ts'
import type { MapResponse, TombstoneResponse, DesiredOutput } from './response.ts'

/** The reason why an output is kept as it is. */
export type KeepReason =
  /** It is as the hook wants it. */
  | 'Unchanged'
  /** It differs, and OnDelete leaves it as it is until a client deletes it. */
  | 'Drift'
  /** It is being deleted; it is created again after its removal (Q27). */
  | 'Terminating'
  /** The tombstone hook keeps it. */
  | 'Kept'
  /** It would be deleted, but not everything is known (Q23). */
  | 'Held'

/** One action, with its reason. */
export type Action =
  | {
      readonly op: 'create'
      readonly kind: OutputKind
      readonly configuration: Configuration
      readonly reason: 'Missing'
    }
  | {
      readonly op: 'update'
      readonly kind: OutputKind
      readonly observed: KubeObject
      readonly configuration: Configuration
      readonly reason: 'Changed'
    }
  /** An output whose kind is not deleted: it stays, as an orphan that its parent may take over again. */
  | { readonly op: 'release'; readonly observed: KubeObject; readonly reason: 'NotWanted' | 'Detached' }
  /** An orphan that names this parent becomes its output again (Q8); a further action may follow. */
  | { readonly op: 'adopt'; readonly observed: KubeObject; readonly reason: 'Orphan' }
  | {
      readonly op: 'delete'
      readonly observed: KubeObject
      readonly reason: 'NotWanted' | 'Detached' | 'Recreate'
      /** For Recreate: the output that replaces it after its removal. */
      readonly next?: { readonly kind: OutputKind; readonly configuration: Configuration }
    }
  | {
      readonly op: 'keep'
      readonly observed: KubeObject
      readonly reason: KeepReason
      readonly configuration?: Configuration
    }
  /** The name is taken (Q12, Q38): nothing is written; the message names both sides. */
  | {
      readonly op: 'refuse'
      readonly identity: Identity
      readonly existing: KubeObject
      readonly reason: 'NameTaken' | 'OtherGroup'
      readonly message: string
    }

/** The actions on a group: adoptions, then deletes and releases (Q18), then all others. */
export type Plan = readonly Action[]

/** The observed state of a group that is planned against. */
export interface ObservedGroup {
  readonly controllerName: string
  /** Field manager of our writes. */
  readonly manager: string
  readonly parent: KubeObject
  /** The outputs of this group. */
  readonly observed: readonly KubeObject[]
  /** Objects that were outputs of this group and have no owner: those that the hook wants are adopted. */
  readonly orphans: readonly KubeObject[]
  /** Returns the object that has the name of an output; finds collisions. */
  readonly find: (kind: OutputKind, identity: Identity) => KubeObject | undefined
  /** False while anything is unknown: every delete becomes a `keep` (Q23). */
  readonly mayDelete: boolean
  /** Returns whether outputs such as this one are released in place of being deleted. */
  readonly isReleased?: (output: KubeObject) => boolean
}

/**
 * Returns the plan that turns the observed outputs of a group into the desired ones. Once applied, the next plan is
 * empty.
 */
export function planGroup(view: ObservedGroup, response: MapResponse, provenance: Provenance): Plan {
  const desired = new Map(response.outputs.map((output) => [formatIdentity(output.identity), output]))
  const observed = new Map(view.observed.map((object) => [formatIdentity(identityOf(object)), object]))
  const orphans = new Map(view.orphans.map((object) => [formatIdentity(identityOf(object)), object]))
  const adoptions: Action[] = []
  const deletes: Action[] = []
  const others: Action[] = []
  for (const [name, object] of observed) {
    if (!desired.has(name)) deletes.push(removal(view, object, 'NotWanted'))
  }
  for (const [name, output] of desired) {
    const orphan = orphans.get(name)
    if (orphan !== undefined) adoptions.push({ op: 'adopt', observed: orphan, reason: 'Orphan' })
    const object = orphan === undefined ? observed.get(name) : adopted(orphan, view.parent)
    const action =
      object === undefined
        ? creation(view, output, provenance)
        : change(view, output, object, configurationOf(output, provenance))
    if (action.op === 'delete') deletes.push(action)
    else others.push(action)
  }
  return [...adoptions, ...deletes, ...others]
}

/** Outputs between two pauses, in a plan for many. */
const planned = 32

/** {@link planGroup}, in steps with a pause in between: a response may have thousands of outputs. */
export async function planGroupInSteps(
  view: ObservedGroup,
  response: MapResponse,
  provenance: Provenance,
  pause: () => Promise<void>,
): Promise<Plan> {
  const wanted = new Set(response.outputs.map(({ identity }) => formatIdentity(identity)))
  const isWanted = (object: KubeObject): boolean => wanted.has(formatIdentity(identityOf(object)))
  const observed = new Map(view.observed.map((object) => [formatIdentity(identityOf(object)), object]))
  const left = { ...view, observed: view.observed.filter((object) => !isWanted(object)) }
  const actions: Action[] = [...planGroup(left, { ...response, outputs: [] }, provenance)]
  for (let at = 0; at < response.outputs.length; at += planned) {
    if (at > 0) await pause()
    const outputs = response.outputs.slice(at, at + planned)
    const ofThese = outputs.flatMap(({ identity }) => observed.get(formatIdentity(identity)) ?? [])
    actions.push(...planGroup({ ...view, observed: ofThese }, { ...response, outputs }, provenance))
  }
  const rank = ({ op }: Action): number => (op === 'adopt' ? 0 : op === 'delete' || op === 'release' ? 1 : 2)
  return actions.toSorted((a, b) => rank(a) - rank(b))
}

/** Returns an orphan as it is once the parent has adopted it. */
export function adopted(orphan: KubeObject, parent: KubeObject): KubeObject {
  const { ownerReferences = [] } = orphan.metadata
  const ownership = tagOf(orphan)?.ownership
  return {
    ...orphan,
    metadata: { ...orphan.metadata, ownerReferences: [...ownerReferences, outputOwner(parent, ownership)] },
  }
}

/**
 * Returns the plan for a group whose input is deleted: outputs that the tombstone hook keeps stay as they are, the
 * others are deleted. Orphans that it keeps are adopted, the others stay orphans. `response` is undefined without a
 * hook.
 */
export function planDetached(view: ObservedGroup, response: TombstoneResponse | undefined): Plan {
  const isKept = (object: KubeObject): boolean => response?.keep.has(formatIdentity(identityOf(object))) === true
  return [
    ...view.orphans.filter(isKept).map((orphan): Action => ({ op: 'adopt', observed: orphan, reason: 'Orphan' })),
    ...view.observed.map((object): Action =>
      isKept(object) ? { op: 'keep', observed: object, reason: 'Kept' } : removal(view, object, 'Detached'),
    ),
  ]
}

/** Returns whether the plan writes nothing: it only keeps outputs as they are. */
export function isEmptyPlan(plan: Plan): boolean {
  return plan.every((action) => action.op === 'keep')
}

function removal(view: ObservedGroup, object: KubeObject, reason: 'NotWanted' | 'Detached'): Action {
  if (isTerminating(object)) return { op: 'keep', observed: object, reason: 'Terminating' }
  if (!view.mayDelete) return { op: 'keep', observed: object, reason: 'Held' }
  return { op: view.isReleased?.(object) === true ? 'release' : 'delete', observed: object, reason }
}

function change(
  view: ObservedGroup,
  output: DesiredOutput,
  observed: KubeObject,
  configuration: Configuration,
): Action {
  if (isTerminating(observed)) return { op: 'keep', observed, reason: 'Terminating' }
  if (isAsApplied(observed, configuration, view.manager)) return { op: 'keep', observed, reason: 'Unchanged' }
  // Only a client that updates in place can take fields back that others own with the same values.
  if (output.kind.method !== 'InPlace' && isEquivalent(observed, configuration, view.manager))
    return { op: 'keep', observed, reason: 'Unchanged' }
  switch (output.kind.method) {
    case 'OnDelete':
      return { op: 'keep', observed, reason: 'Drift', configuration }
    case 'InPlace':
      return { op: 'update', kind: output.kind, observed, configuration, reason: 'Changed' }
    case 'Recreate':
      if (!view.mayDelete) return { op: 'keep', observed, reason: 'Held', configuration }
      return { op: 'delete', observed, reason: 'Recreate', next: { kind: output.kind, configuration } }
  }
}

function creation(view: ObservedGroup, output: DesiredOutput, provenance: Provenance): Action {
  const existing = view.find(output.kind, output.identity)
  if (existing === undefined)
    return { op: 'create', kind: output.kind, configuration: configurationOf(output, provenance), reason: 'Missing' }
  return refusal(view, output.identity, existing)
}

/**
 * Returns the refusal of a name: foreign objects are never taken over (Q38), and of two groups the first one keeps it
 * (Q12).
 */
export function refusal(
  view: Pick<ObservedGroup, 'controllerName' | 'parent'>,
  identity: Identity,
  existing: KubeObject,
): Action & { op: 'refuse' } {
  const name = formatIdentity(identity)
  const role = outputRole(existing, view.controllerName)
  if (isOutputOfParent(role, view.parent)) {
    const message = `${name} is wanted for this input, but it is an output of ${formatIdentity(role.input)}, which keeps it; give the outputs of each input names of their own`
    return { op: 'refuse', identity, existing, reason: 'OtherGroup', message }
  }
  const owner = controllerOf(existing)
  const whose =
    owner === undefined
      ? 'is not owned by this parent'
      : owner.uid === view.parent.metadata.uid
        ? otherTag(existing, view.controllerName)
        : `belongs to ${owner.kind} ${owner.name}`
  const message = `${name} exists already and ${whose}; it was left as it is. Rename one of the two, or delete it`
  return { op: 'refuse', identity, existing, reason: 'NameTaken', message }
}

/** Says why an object that this parent owns is no output of the controller; names the controller of its tag. */
function otherTag(existing: KubeObject, controllerName: string): string {
  const tag = tagOf(existing)
  return tag === undefined || tag.controller === controllerName
    ? 'does not carry the tag of this controller'
    : `carries the tag of MapController ${tag.controller}, not of ${controllerName} (spec.replaces takes over the outputs of a deleted one)`
}
