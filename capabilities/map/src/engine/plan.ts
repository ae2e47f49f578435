// What is done to the outputs of one group, as data: the shell carries it out, the commands print it. Start with planGroup.
import type { KubeObject } from '@fairlead/kube'
import { controllerOf, isTerminating } from '@fairlead/kube'
import type { MapResponse, TombstoneResponse, DesiredOutput } from './response.ts'
import type { Configuration, Provenance } from './configuration.ts'
import { configurationOf, isAsApplied } from './configuration.ts'
import { outputRole } from './group.ts'
import type { Identity } from './identity.ts'
import { formatIdentity, identityOf } from './identity.ts'
import type { OutputKind } from './resource.ts'

/** Why something is kept as it is. */
export type KeepReason =
  /** It is as the hook wants it. */
  | 'Unchanged'
  /** It differs, and OnDelete leaves it so until somebody deletes it. */
  | 'Drift'
  /** It is on its way out; it is made anew once it is gone (Q27). */
  | 'Terminating'
  /** The tombstone hook keeps it. */
  | 'Kept'
  /** It would be deleted, but not everything is known (Q23). */
  | 'Held'

/** One thing to do, with its reason. */
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
  | {
      readonly op: 'delete'
      readonly observed: KubeObject
      readonly reason: 'NotWanted' | 'Detached' | 'Recreate'
      /** For Recreate: what comes in its place once it is gone. */
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

/** What to do, deletes first (Q18). */
export type Plan = readonly Action[]

/** What a plan is made from. */
export interface ObservedGroup {
  readonly controllerName: string
  /** Field manager of our writes. */
  readonly manager: string
  readonly parent: KubeObject
  /** The outputs of this group. */
  readonly observed: readonly KubeObject[]
  /** What the cache holds under a name; finds strangers. */
  readonly find: (kind: OutputKind, identity: Identity) => KubeObject | undefined
  /** False while anything is unknown: every delete becomes a `keep` (Q23). */
  readonly mayDelete: boolean
}

/** The plan that turns the observed outputs of a group into the wanted ones. Applied, its plan is empty. */
export function planGroup(view: ObservedGroup, answer: MapResponse, mark: Provenance): Plan {
  const wanted = new Map(answer.outputs.map((output) => [formatIdentity(output.identity), output]))
  const observed = new Map(view.observed.map((object) => [formatIdentity(identityOf(object)), object]))
  const deletes: Action[] = []
  const others: Action[] = []
  for (const [name, object] of observed) {
    if (!wanted.has(name)) deletes.push(removal(view, object, 'NotWanted'))
  }
  for (const [name, output] of wanted) {
    const object = observed.get(name)
    const action =
      object === undefined ? creation(view, output, mark) : change(view, output, object, configurationOf(output, mark))
    if (action.op === 'delete') deletes.push(action)
    else others.push(action)
  }
  return [...deletes, ...others]
}

/** The plan for a group whose input is gone: what the tombstone hook keeps stays as it is, the rest goes. `answer` is undefined without a hook. */
export function planDetached(view: ObservedGroup, answer: TombstoneResponse | undefined): Plan {
  return view.observed.map((object): Action =>
    answer?.keep.has(formatIdentity(identityOf(object)))
      ? { op: 'keep', observed: object, reason: 'Kept' }
      : removal(view, object, 'Detached'),
  )
}

/** Returns whether the plan writes nothing: it only keeps outputs as they are. */
export function isEmptyPlan(plan: Plan): boolean {
  return plan.every((action) => action.op === 'keep')
}

function removal(view: ObservedGroup, object: KubeObject, reason: 'NotWanted' | 'Detached'): Action {
  if (isTerminating(object)) return { op: 'keep', observed: object, reason: 'Terminating' }
  return view.mayDelete ? { op: 'delete', observed: object, reason } : { op: 'keep', observed: object, reason: 'Held' }
}

function change(
  view: ObservedGroup,
  output: DesiredOutput,
  observed: KubeObject,
  configuration: Configuration,
): Action {
  if (isTerminating(observed)) return { op: 'keep', observed, reason: 'Terminating' }
  if (isAsApplied(observed, configuration, view.manager)) return { op: 'keep', observed, reason: 'Unchanged' }
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

function creation(view: ObservedGroup, output: DesiredOutput, mark: Provenance): Action {
  const existing = view.find(output.kind, output.identity)
  if (existing === undefined)
    return { op: 'create', kind: output.kind, configuration: configurationOf(output, mark), reason: 'Missing' }
  return refusal(view, output.identity, existing)
}

/** Why a name cannot be had: nothing that is not ours is ever taken over (Q38), and between two groups the first one has it (Q12). */
export function refusal(
  view: Pick<ObservedGroup, 'controllerName' | 'parent'>,
  identity: Identity,
  existing: KubeObject,
): Action & { op: 'refuse' } {
  const name = formatIdentity(identity)
  const role = outputRole(existing, view.controllerName)
  if (role.role === 'output' && role.parentUid === view.parent.metadata.uid) {
    const message = `${name} is wanted for this input, but it is an output of ${formatIdentity(role.input)}, which keeps it; give the outputs of each input names of their own`
    return { op: 'refuse', identity, existing, reason: 'OtherGroup', message }
  }
  const owner = controllerOf(existing)
  const whose =
    owner === undefined
      ? 'is not owned by this parent'
      : owner.uid === view.parent.metadata.uid
        ? 'does not carry the tag of this controller'
        : `belongs to ${owner.kind} ${owner.name}`
  const message = `${name} exists already and ${whose}; it was left as it is. Rename one of the two, or delete it`
  return { op: 'refuse', identity, existing, reason: 'NameTaken', message }
}
