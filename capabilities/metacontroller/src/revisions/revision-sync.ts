// Syncs a parent whose children are updated one after the other: calls the hook for every revision, moves the rollout
// on, and writes the ControllerRevisions before any child is written.
import type { Client } from '@fairlead/client'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson, jsonEqual, keyOf } from '@fairlead/kube'
import type { ApplyStrategy } from '../children/apply-strategy.ts'
import type { ChildWriter } from '../children/child-writer.ts'
import type { Child, ChildKind } from '../children/child.ts'
import type { Claims } from '../children/claims.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import type { OutputWrite } from '../runtime/writer.ts'
import type { ControllerRevision, RevisionChildren, RevisionRules } from './revision.ts'
import { isRevision, newRevision, parentPatch, withParentPatch } from './revision.ts'
import { nextRollout, withUpdatedCondition } from './rollout.ts'

/** The part of a hook's response that concerns revisions. */
export interface RevisionResponse {
  readonly children: readonly Child[]
  readonly status: JsonObject | null
  readonly resyncAfterSeconds: number | undefined
  readonly finalized: boolean
}

/** Dependencies of the sync of one parent. */
export interface RevisionSyncOptions<R extends RevisionResponse> {
  readonly parent: KubeObject
  readonly parentKind: ResolvedResource
  readonly kinds: readonly ChildKind[]
  readonly rules: RevisionRules
  /** The ControllerRevisions of the parent. */
  readonly claims: Claims
  readonly children: readonly Child[]
  readonly client: Client
  readonly writer: ChildWriter
  /** Calls the hook with the parent as a revision has it; `group` distinguishes the revisions of the parent. */
  readonly ask: (parent: KubeObject, group: string) => Promise<R>
  /** Dynamic apply when left out. */
  readonly strategy?: ApplyStrategy
  /** Returns whether every kind is known. */
  readonly areKnown: () => boolean
  readonly onWrite: (write: OutputWrite) => void
}

/** The decision on the revisions of one parent. */
export interface RevisionDecision<R extends RevisionResponse> {
  /** The response of all revisions together. */
  readonly response: R
  /** The ControllerRevisions to keep, with their children; all others are deleted. */
  readonly kept: readonly KeptRevision[]
}

/** The state that decides on the revisions of a parent. */
export type RevisionFacts<R extends RevisionResponse> = Pick<
  RevisionSyncOptions<R>,
  'parent' | 'parentKind' | 'kinds' | 'rules' | 'children' | 'ask' | 'strategy'
> & { readonly observed: readonly ControllerRevision[] }

/** Calls the hook for every revision of a parent and decides on them. Throws what `ask` throws, and ResponseError. */
export async function decideRevisions<R extends RevisionResponse>(
  facts: RevisionFacts<R>,
): Promise<RevisionDecision<R>> {
  const { parent, parentKind, kinds, rules, observed, children, ask, strategy } = facts
  const patch = parentPatch(parent, rules.fieldPaths)
  const latest =
    observed.find((revision) => isRevision(revision, patch)) ?? newRevision(parent, parentKind, patch, rules)
  const older = observed.filter((revision) => !isRevision(revision, patch))
  const revisions = [latest, ...older]
  const responses = await Promise.all(
    revisions.map((revision, at) =>
      at === 0
        ? ask(parent, '')
        : ask(withParentPatch(parent, revision.parentPatch, rules.fieldPaths), keyOf(revision).name),
    ),
  )
  const [first, ...rest] = revisions.map((revision, at) => ({
    name: revision.metadata.name ?? '',
    recorded: revision.children ?? [],
    desired: responses[at]!.children,
  }))
  const rollout = nextRollout({
    parent,
    kinds,
    revisions: [first!, ...rest],
    observed: children,
    ...(strategy && { strategy }),
  })
  const kept = revisions.flatMap((revision, at) => {
    const recorded = rollout.recorded[at] ?? []
    return at === 0 || recorded.length > 0 ? [{ revision, recorded }] : []
  })
  const resyncs = responses.flatMap(({ resyncAfterSeconds }) => resyncAfterSeconds ?? [])
  const response = {
    ...responses[0]!,
    children: rollout.desired,
    status: withUpdatedCondition(responses[0]!.status, rollout.condition),
    resyncAfterSeconds: resyncs.length === 0 ? undefined : Math.min(...resyncs),
    finalized: responses.every(({ finalized }) => finalized),
  }
  return { response, kept }
}

/**
 * Syncs the revisions of a parent. Returns the response of all of them; undefined when a kind was lost during the
 * calls. Throws what `ask` throws, ResponseError and StatusError.
 */
export async function syncRevisions<R extends RevisionResponse>(
  options: RevisionSyncOptions<R>,
): Promise<R | undefined> {
  const observed = (await options.writer.claim(options.claims)).map(({ object }) => object as ControllerRevision)
  const { response, kept } = await decideRevisions({ ...options, observed })
  // A ControllerRevision or a child that is missing may be unknown instead of deleted.
  if (!options.areKnown()) return undefined
  await writeRevisions(observed, kept, options)
  return response
}

/** A ControllerRevision that is kept. */
export interface KeptRevision {
  readonly revision: ControllerRevision
  readonly recorded: readonly RevisionChildren[]
}

/** Every error ends the sync: children are not written before the revision that they are on is recorded. */
async function writeRevisions(
  observed: readonly ControllerRevision[],
  kept: readonly KeptRevision[],
  { client, onWrite }: Pick<RevisionSyncOptions<RevisionResponse>, 'client' | 'onWrite'>,
): Promise<void> {
  for (const { revision, recorded } of kept) {
    const { children = [], ...rest } = revision
    const before = observed.find((one) => one === revision)
    const wanted = recorded.length === 0 ? rest : { ...rest, children: recorded }
    if (before === undefined) {
      onWrite({ op: 'create', before: undefined, after: await client.create(wanted) })
    } else if (!jsonEqual(asJson({ children }), asJson({ children: recorded }))) {
      onWrite({ op: 'update', before, after: await client.update(wanted) })
    }
  }
  for (const before of observed.filter((one) => !kept.some(({ revision }) => revision === one))) {
    const { uid, resourceVersion } = before.metadata
    const preconditions = { uid, resourceVersion }
    const after = await client.delete(before, keyOf(before), { propagation: 'Background', preconditions })
    onWrite({ op: 'delete', before, after })
  }
}
