// Rolling updates: which revision of the parent every child is on, and the one child that moves to the latest revision
// in a sync. Pure; revision-sync.ts carries it out.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import type { Child, ChildKind, StatusCheck } from '../children/child.ts'
import { childKey, isRolling } from '../children/child.ts'
import type { ApplyStrategy } from '../children/apply-strategy.ts'
import { dynamicApply } from '../children/apply-strategy.ts'
import { LastAppliedError } from '../children/merge.ts'
import { requestKeys } from '../engine/request.ts'
import { ResponseError } from '../engine/response.ts'
import type { RevisionChildren } from './revision.ts'

/** One revision of the parent with the children that its hook call returned. */
export interface RevisionState {
  /** Name of its ControllerRevision. */
  readonly name: string
  /** The children that its ControllerRevision records. */
  readonly recorded: readonly RevisionChildren[]
  readonly desired: readonly Child[]
}

/** The state that decides on the next step of a rollout. */
export interface RolloutFacts {
  readonly parent: KubeObject
  readonly kinds: readonly ChildKind[]
  /** The latest revision first. */
  readonly revisions: readonly [RevisionState, ...RevisionState[]]
  readonly observed: readonly Child[]
  /** Dynamic apply when left out. */
  readonly strategy?: ApplyStrategy
}

/** The condition `Updated` of the parent. */
export interface UpdatedCondition {
  readonly type: 'Updated'
  readonly status: 'True' | 'False'
  readonly reason: 'OnLatestRevision' | 'RolloutProgressing' | 'RolloutWaiting'
  readonly message: string
}

/** The outcome of one sync of a rollout. */
export interface Rollout {
  /** The children on each revision, in the order of the revisions. */
  readonly recorded: readonly (readonly RevisionChildren[])[]
  /** The desired children: each as its revision wants it. */
  readonly desired: readonly Child[]
  readonly condition: UpdatedCondition
}

/** Decides on the next step of a rollout. */
export function nextRollout(facts: RolloutFacts): Rollout {
  const { revisions, observed } = facts
  const [latest] = revisions
  const claims = new Claims(facts)
  const existing = new Map(observed.map((child) => [childKey(child), child.object]))
  const rolling = latest.desired.filter(({ kind }) => isRolling(kind))
  // New children, and those that need no change, move at once: a sync that writes nothing would wake no other.
  for (const child of rolling) {
    const holder = claims.holderOf(child)
    const object = existing.get(childKey(child))
    if (holder === undefined || (holder > 0 && object !== undefined && isUpdated(facts, object, child.object)))
      claims.move(child, 0)
  }
  const condition = advance(facts, claims, rolling, existing)
  const desired = latest.desired.map((child) => {
    const holder = isRolling(child.kind) ? claims.holderOf(child) : undefined
    const older = holder === undefined ? undefined : revisions[holder]?.desired.find((one) => sameChild(one, child))
    return older ?? child
  })
  return { recorded: revisions.map((_revision, at) => claims.of(at)), desired, condition }
}

/** Moves the next child to the latest revision when all that are on it already are updated and pass their checks. */
function advance(
  facts: RolloutFacts,
  claims: Claims,
  rolling: readonly Child[],
  existing: ReadonlyMap<string, KubeObject>,
): UpdatedCondition {
  const {
    parent,
    revisions: [latest],
  } = facts
  const next = rolling.find((child) => claims.holderOf(child) !== 0)
  if (next === undefined) return updated('True', 'OnLatestRevision', `latest ControllerRevision: ${latest.name}`)
  const keyed = requestKeys(parent, 'v1')
  for (const child of rolling.filter((one) => claims.holderOf(one) === 0)) {
    const problem = unreadiness(facts, child, existing.get(childKey(child)), keyed(child.object))
    if (problem !== undefined) return updated('False', 'RolloutWaiting', problem)
  }
  claims.move(next, 0)
  return updated('False', 'RolloutProgressing', `updating ${next.kind.kind} ${keyed(next.object)}`)
}

/** Returns why the rollout has to wait for a child on the latest revision; undefined when it has not. */
function unreadiness(
  { parent, strategy = dynamicApply }: RolloutFacts,
  { kind, object: desired }: Child,
  object: KubeObject | undefined,
  name: string,
): string | undefined {
  const child = `child ${kind.kind} ${name}`
  if (object === undefined) return `missing ${child}`
  try {
    if (strategy.updated(parent, object, desired) !== object) return `${child} is not updated yet`
  } catch (error) {
    if (!(error instanceof LastAppliedError)) throw error
    return `can't check if ${child} is updated: ${error.message}`
  }
  const status: JsonValue = (object.status as JsonValue | undefined) ?? {}
  const { observedGeneration = 0, conditions = [] } = isJsonObject(status) ? status : {}
  const { generation = 0 } = object.metadata
  const isBehind = typeof observedGeneration === 'number' && observedGeneration > 0 && observedGeneration < generation
  if (kind.method === 'RollingInPlace' && isBehind)
    return `${child} with RollingInPlace update strategy hasn't observed latest spec`
  for (const check of kind.statusChecks ?? []) {
    const problem = failedCheck(check, Array.isArray(conditions) ? (conditions as readonly JsonValue[]) : [])
    if (problem !== undefined) return `${child} failed status check: ${problem}`
  }
  return undefined
}

function failedCheck({ type, status, reason }: StatusCheck, conditions: readonly JsonValue[]): string | undefined {
  const found = conditions.find((one): one is JsonObject => isJsonObject(one) && one['type'] === type)
  if (found === undefined) return `required condition type missing: "${type}"`
  const differs = (field: string, wanted: string | undefined): string | undefined => {
    const value = typeof found[field] === 'string' ? found[field] : ''
    return wanted === undefined || value === wanted
      ? undefined
      : `"${type}" condition ${field} is "${value}" (want "${wanted}")`
  }
  return differs('status', status) ?? differs('reason', reason)
}

/** Returns the status with the condition. Throws ResponseError when its conditions are no list. */
export function withUpdatedCondition(status: JsonObject | null, condition: UpdatedCondition): JsonObject {
  const { conditions = [] } = status ?? {}
  if (!Array.isArray(conditions))
    throw new ResponseError('InvalidResponse', 'status.conditions in the response of the sync hook must be a list')
  const others = conditions as readonly JsonValue[]
  const at = others.findIndex((one) => isJsonObject(one) && one['type'] === condition.type)
  const value = { ...condition } as JsonObject
  return { ...status, conditions: at < 0 ? [...others, value] : others.with(at, value) }
}

function updated(
  status: UpdatedCondition['status'],
  reason: UpdatedCondition['reason'],
  message: string,
): UpdatedCondition {
  return { type: 'Updated', status, reason, message }
}

function isUpdated(
  { parent, strategy = dynamicApply }: RolloutFacts,
  observed: KubeObject,
  desired: KubeObject,
): boolean {
  try {
    return strategy.updated(parent, observed, desired) === observed
  } catch (error) {
    if (error instanceof LastAppliedError) return false
    throw error
  }
}

function sameChild(one: Child, other: Child): boolean {
  return childKey(one) === childKey(other)
}

interface Claim {
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
  /** Position of the revision. */
  readonly holder: number
}

/** The revision that each child is on. Versions of kinds do not matter. */
class Claims {
  readonly #parent: KubeObject
  /** In the order in which ControllerRevisions record them. */
  readonly #claims = new Map<string, Claim>()

  /**
   * Reads the claims of the ControllerRevisions, the latest first: of two that claim a child the first one holds it.
   * Claims of children that the latest revision does not want, or whose kind does not roll, are dropped.
   */
  constructor({ parent, kinds, revisions }: RolloutFacts) {
    this.#parent = parent
    const [latest] = revisions
    const wanted = new Set(latest.desired.map((child) => claimKey(this.#claimOf(child, 0))))
    const rolling = new Set(kinds.filter(isRolling).map(({ group, kind }) => `${kind}.${group}`))
    for (const [holder, { recorded }] of revisions.entries()) {
      for (const { apiGroup, kind, names } of recorded.filter((one) => rolling.has(`${one.kind}.${one.apiGroup}`))) {
        for (const name of names) {
          const claim = { apiGroup, kind, name, holder }
          const key = claimKey(claim)
          if (wanted.has(key) && !this.#claims.has(key)) this.#claims.set(key, claim)
        }
      }
    }
  }

  holderOf(child: Child): number | undefined {
    return this.#claims.get(claimKey(this.#claimOf(child, 0)))?.holder
  }

  move(child: Child, holder: number): void {
    const claim = this.#claimOf(child, holder)
    this.#claims.delete(claimKey(claim))
    this.#claims.set(claimKey(claim), claim)
  }

  /** Returns the children on a revision, by kind. */
  of(holder: number): readonly RevisionChildren[] {
    const groups = new Map<string, { readonly apiGroup: string; readonly kind: string; readonly names: string[] }>()
    for (const { apiGroup, kind, name, ...claim } of this.#claims.values()) {
      if (claim.holder !== holder) continue
      const key = `${kind}.${apiGroup}`
      const group = groups.get(key) ?? { apiGroup, kind, names: [] }
      group.names.push(name)
      groups.set(key, group)
    }
    return [...groups.values()]
  }

  #claimOf({ kind, object }: Child, holder: number): Claim {
    return { apiGroup: kind.group, kind: kind.kind, name: requestKeys(this.#parent, 'v1')(object), holder }
  }
}

function claimKey({ apiGroup, kind, name }: Pick<Claim, 'apiGroup' | 'kind' | 'name'>): string {
  return `${kind}.${apiGroup}/${name}`
}
