// porch.json: merges, renders, lifecycle and names on the engine of @fairlead/packages; variants and sets on that of
// @fairlead/variants.
import type { Lifecycle, LifecycleVerb } from '@fairlead/packages'
import {
  deletionProposedBranch,
  draftBranch,
  enforcesGates,
  nextRevision,
  overlappingPackage,
  packageRevisionName,
  proposedBranch,
  revisionTag,
  transition,
  unmetGates,
} from '@fairlead/packages'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { sameValue } from '../comparison.ts'
import type { Area, Suite } from '../suite.ts'
import { playKptfileMerge, playMerge } from './merge.ts'
import { playRender } from './render.ts'
import { variantPlayers } from './variant.ts'
import { setPlayers } from './variant-sets.ts'

interface Player extends Area {
  play(input: Case['input'], want: Case['want']): readonly Disagreement[] | Promise<readonly Disagreement[]>
}

const players: Readonly<Record<string, Player>> = {
  ...setPlayers,
  ...variantPlayers,
  merge3: {
    input: ['strategy', 'base', 'upstream', 'local'],
    want: ['files', 'objects', 'resources', 'error'],
    play: playMerge,
  },
  'kptfile-merge': { input: ['base', 'upstream', 'local'], want: ['kptfile'], play: playKptfileMerge },
  render: { input: ['files', 'functions'], want: ['calls', 'paths', 'files'], play: playRender },
  lifecycle: {
    input: ['from', 'to', 'via', 'deployment', 'readinessGates', 'conditions', 'resourceVersion'],
    want: ['allowed', 'httpStatus'],
    play: playLifecycle,
  },
  naming: {
    input: ['repository', 'packageName', 'workspaceName', 'publishedRevisions'],
    want: ['name', 'revisionOnPublish', 'tag', 'draftBranch', 'proposedBranch', 'deletionProposedBranch'],
    play: (input, want) => sameValue('names', want, namesOf(input)),
  },
  'package-path': {
    input: ['existing', 'new'],
    want: ['allowed'],
    play: (input, want) =>
      sameValue(
        'allowed',
        want.allowed,
        overlappingPackage(String(input.new), input.existing as string[]) === undefined,
      ),
  },
}

function namesOf(input: Case['input']): Readonly<Record<string, unknown>> {
  const [repository, packageName, workspaceName] = [input.repository, input.packageName, input.workspaceName].map(
    String,
  ) as [string, string, string]
  const revision = nextRevision(input.publishedRevisions as number[])
  return {
    name: packageRevisionName({ repository, packageName, workspaceName }),
    revisionOnPublish: revision,
    tag: revisionTag(packageName, revision),
    draftBranch: draftBranch(packageName, workspaceName),
    proposedBranch: proposedBranch(packageName, workspaceName),
    deletionProposedBranch: deletionProposedBranch(packageName, revision),
  }
}

function playLifecycle(input: Case['input'], want: Case['want']): Disagreement[] {
  const status = httpStatus(input)
  return [
    ...sameValue('allowed', want.allowed, status === 200),
    ...(want.httpStatus === undefined ? [] : sameValue('httpStatus', want.httpStatus, status)),
  ]
}

const statusOf = { Invalid: 422, Forbidden: 403, BadRequest: 400 } as const

/** Returns the HTTP status as the server composes it: precondition, then lifecycle, then readiness gates. */
function httpStatus(input: Case['input']): number {
  if (input.resourceVersion === 'stale') return 409
  const to = input.to as Lifecycle | null
  const verb = input.via as LifecycleVerb
  const refusal = transition(input.from as Lifecycle, to, verb)
  if (refusal !== undefined) return statusOf[refusal.reason]
  if (verb !== 'approval' || to !== 'Published' || !enforcesGates({ deployment: input.deployment === true })) return 200
  const gates = ((input.readinessGates ?? []) as string[]).map((conditionType) => ({ conditionType }))
  return unmetGates(gates, (input.conditions ?? []) as { type: string; status: string }[]).length === 0 ? 200 : 403
}

/** Plays the cases of porch.json. */
export const suite: Suite = {
  areas: players,
  run: async ({ area, input, want }) => await players[area]!.play(input, want),
}
