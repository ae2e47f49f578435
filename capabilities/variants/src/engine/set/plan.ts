// Plans the variants of a set: what to create, update, delete, keep and hold back, each with its reason.
import { asJson, jsonEqual } from '@fairlead/kube'
import type { CandidateSources } from './candidates.ts'
import { wantedDownstreams } from './downstreams.ts'
import type { SetUpstream, WantedDownstream, WantedDownstreams } from './downstreams.ts'
import { isFollowed } from '../variant/upstream.ts'
import { paced } from './rollout.ts'
import { downstreamKey } from './spec.ts'
import type { Downstream, SetSpec, TargetFailure, VariantSpec } from './spec.ts'
import { variantNames } from './variant-name.ts'

/** A variant of the set as it is. */
export interface ObservedVariant extends Downstream {
  readonly name: string
  /** The spec that the set has stated. */
  readonly spec: VariantSpec
  /** Number of the upstream revision that it has selected. */
  readonly taken?: number
  /** It has a revision that is not published, or one to come. */
  readonly isOpen: boolean
  readonly isTerminating: boolean
}

/** A set and everything that decides on its variants. */
export interface ObservedSet extends CandidateSources {
  readonly name: string
  readonly spec: SetSpec
  readonly upstream: SetUpstream
  readonly variants: readonly ObservedVariant[]
}

/** A variant that the set wants. */
export interface PlannedVariant extends Downstream {
  readonly name: string
  readonly target: number
  readonly spec: VariantSpec
}

/** The decision on one variant. */
export type VariantDecision =
  | { readonly do: 'create' | 'update' | 'hold'; readonly variant: PlannedVariant; readonly reason: string }
  | {
      readonly do: 'keep' | 'delete'
      readonly variant: Downstream & { readonly name: string }
      readonly reason: string
    }

/** The plan of a set. */
export interface SetPlan {
  /** Deletions first, then changes in the order of the rollout. */
  readonly decisions: readonly VariantDecision[]
  readonly failures: readonly TargetFailure[]
  /** Number of downstreams that the targets select, without the failures. */
  readonly targets: number
  readonly isPaused: boolean
}

/** Returns the plan of a set; `downstreams` are those that its targets want, when they are known already. */
export function planSet(
  set: ObservedSet,
  downstreams: WantedDownstreams = wantedDownstreams(set.spec, set.upstream, set),
): SetPlan {
  const { wanted, failures, isUndecided } = downstreams
  const matches = matched(wanted, set)
  const changes: Change[] = []
  const kept: VariantDecision[] = []
  const names = newNames(set, wanted, matches)
  for (const one of paced(wanted)) {
    const existing = matches.get(one)
    const name = existing?.name ?? names.get(downstreamKey(one))!
    const { target, repo, package: path, spec } = one
    const variant: PlannedVariant = { name, target, repo, package: path, spec }
    if (existing === undefined)
      changes.push({ do: 'create', variant, reason: `spec.targets[${target}] selects ${repo}/${path}` })
    else if (existing.isTerminating)
      kept.push({ do: 'keep', variant, reason: 'it is being deleted; a new one follows' })
    else if (jsonEqual(asJson(existing.spec), asJson(spec))) kept.push({ do: 'keep', variant, reason: 'it is current' })
    else changes.push({ do: 'update', variant, reason: `the spec has changed: ${changedFields(existing.spec, spec)}` })
  }
  const used = new Map([...matches.values()].map((variant) => [variant.name, variant]))
  const unwanted = set.variants.filter(({ name, isTerminating }) => !used.has(name) && !isTerminating)
  const removals = unwanted.map((variant): VariantDecision => {
    if (isUndecided(variant)) return { do: 'keep', variant, reason: 'a failing target may select it' }
    if (set.spec.rollout?.pause === true) return { do: 'keep', variant, reason: 'the rollout is paused' }
    return { do: 'delete', variant, reason: `no target selects ${variant.repo}/${variant.package}` }
  })
  const held = holdBack(changes, set).map((change) => {
    const existing = change.do === 'hold' ? used.get(change.variant.name) : undefined
    return existing === undefined ? change : (pinning(change, existing) ?? change)
  })
  return {
    decisions: [...removals, ...held, ...kept],
    failures,
    targets: wanted.length,
    isPaused: set.spec.rollout?.pause === true,
  }
}

/** Returns the existing variants of wanted downstreams: those of the same downstream, then those of the same name. */
function matched(
  wanted: readonly WantedDownstream[],
  { name, variants }: ObservedSet,
): ReadonlyMap<WantedDownstream, ObservedVariant> {
  const byDownstream = new Map<string, ObservedVariant>()
  for (const variant of variants)
    if (!byDownstream.has(downstreamKey(variant))) byDownstream.set(downstreamKey(variant), variant)
  const matches = new Map<WantedDownstream, ObservedVariant>()
  for (const one of wanted) {
    const existing = byDownstream.get(downstreamKey(one))
    if (existing !== undefined) matches.set(one, existing)
  }
  // A variant whose downstream was changed by hand is changed back, not deleted.
  const used = new Set(matches.values())
  const rest = new Map(variants.filter((variant) => !used.has(variant)).map((variant) => [variant.name, variant]))
  if (rest.size === 0) return matches
  const names = variantNames(name, wanted)
  for (const one of wanted) {
    const existing = matches.has(one) ? undefined : rest.get(names.get(downstreamKey(one))!)
    if (existing !== undefined) matches.set(one, existing)
  }
  return matches
}

/** Names of variants that do not exist yet. A variant keeps its name, even when its plain name clashes later. */
function newNames(
  { name, variants }: ObservedSet,
  wanted: readonly WantedDownstream[],
  matches: ReadonlyMap<WantedDownstream, ObservedVariant>,
): ReadonlyMap<string, string> {
  const missing = wanted.filter((one) => !matches.has(one))
  return variantNames(name, missing, new Set(variants.map((variant) => variant.name)))
}

type Change = Extract<VariantDecision, { readonly do: 'create' | 'update' | 'hold' }>

/** Holds back what exceeds the drafts of the rollout. A variant that is open already needs no new draft. */
function holdBack(changes: readonly Change[], { spec, variants }: ObservedSet): readonly Change[] {
  const { pause, maxDrafts } = spec.rollout ?? {}
  if (pause === true) return changes.map((change) => ({ ...change, do: 'hold', reason: 'the rollout is paused' }))
  if (maxDrafts === undefined) return changes
  const open = new Set(variants.filter(({ isOpen, isTerminating }) => isOpen && !isTerminating).map(({ name }) => name))
  let free = maxDrafts - open.size
  return changes.map((change): Change => {
    if (open.has(change.variant.name)) return change
    if (free-- > 0) return change
    return { ...change, do: 'hold', reason: `the rollout allows ${maxDrafts} drafts at a time` }
  })
}

/**
 * Returns the change that pins a held variant to the revision that it has selected, so that a new one does not reach
 * it meanwhile; it makes no draft. Undefined when the rollout does not pin, or the variant is pinned.
 */
function pinning({ variant }: Change, { repo, package: path, spec, taken }: ObservedVariant): Change | undefined {
  const wanted = variant.spec.upstream
  // The set may have stated nothing of a variant that it controls.
  const mayFollow = 'upstream' in spec && isFollowed(spec.upstream)
  if (
    !mayFollow ||
    isFollowed(wanted) ||
    repo !== variant.repo ||
    path !== variant.package ||
    !isSamePackage(spec.upstream, wanted)
  )
    return undefined
  const upstream = { ...wanted, ...(taken !== undefined && { revision: taken }) }
  const reason = `the rollout pins the variant to revision ${upstream.revision}`
  return { do: 'update', variant: { ...variant, spec: { ...spec, upstream } }, reason }
}

function isSamePackage(one: VariantSpec['upstream'], other: VariantSpec['upstream']): boolean {
  return one.repo === other.repo && one.package === other.package
}

function changedFields(before: VariantSpec, after: VariantSpec): string {
  const [old, next] = [asJson(before), asJson(after)]
  const fields = [...new Set([...Object.keys(old), ...Object.keys(next)])]
  return fields.filter((field) => !jsonEqual(old[field] ?? null, next[field] ?? null)).join(', ')
}
