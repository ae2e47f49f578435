// cartographer.json: runs each case against the engine of supply chains.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import {
  InterpolationError,
  healthOf,
  interpolateString,
  mergeParams,
  newestHealthyRun,
  readyFrom,
  resourcesHealthy,
  selectionReason,
  submittedFromRuns,
  summarize,
  runsToPrune,
  bestMatches,
} from '@fairlead/supply'
import type {
  BlueprintParam,
  HealthRule,
  OwnerParam,
  OwnerSelector,
  RetentionPolicy,
  RuleSpelling,
  Run,
  TemplateKind,
  TemplateParam,
  Verdict,
} from '@fairlead/supply'
import type { Case } from '../case-file.ts'
import { holdsFragments, sameValue } from '../comparison.ts'
import type { Disagreement } from '../comparison.ts'
import type { Area, Suite } from '../suite.ts'

type Want = Case['want']
type Play = (input: Case['input'], want: Want) => Disagreement[]

/** Compares the keys of `want`. */
function sameKeys(want: Want, actual: Readonly<Record<string, unknown>>): Disagreement[] {
  return Object.keys(want).flatMap((key) => sameValue(key, want[key], actual[key]))
}

function fragments(at: string, want: unknown, actual: string): Disagreement[] {
  return holdsFragments(actual, want as readonly string[]) ? [] : [{ at, wanted: want, came: actual }]
}

const health: Play = (input, { messageContains, ...want }) => {
  const actual = healthOf({
    spelling: input['spelling'] as RuleSpelling,
    rule: (input['rule'] ?? undefined) as HealthRule | undefined,
    templateKind: input['templateKind'] as TemplateKind,
    object: (input['object'] ?? undefined) as KubeObject | undefined,
    realized: (input['realized'] ?? undefined) as { stamped: boolean; outputs: readonly string[] } | undefined,
  })
  const inMessage = messageContains === undefined ? [] : fragments('messageContains', messageContains, actual.message)
  return [...sameKeys(want, { ...actual }), ...inMessage]
}

const templating: Play = (input, want) => {
  let actual: JsonValue
  try {
    actual = interpolateString(input['text'] as string, input['context'] as JsonObject)
  } catch (error) {
    if (!(error instanceof InterpolationError)) throw error
    return want['error'] === undefined
      ? [{ at: 'value', wanted: want['value'], came: error.message }]
      : fragments('error', want['error'], error.message)
  }
  return want['error'] === undefined
    ? sameValue('value', want['value'], actual)
    : [{ at: 'error', wanted: want['error'], came: actual }]
}

function listOf<T>(one: unknown): T[] {
  return one === null || one === undefined ? [] : [one as T]
}

const selection: Play = (input, want) => {
  const owner = input['owner'] as KubeObject
  const actual = bestMatches(owner, input['selectors'] as readonly OwnerSelector[])
  return sameKeys(want, { winners: actual, reason: selectionReason('Workload', owner, actual.length) })
}

interface CaseRun {
  readonly name: string
  readonly created: number
  readonly conditions: readonly JsonObject[]
  readonly value: JsonValue
}

const immutable: Play = (input, want) => {
  const rule = input['rule'] as HealthRule
  const runs = (input['objects'] as readonly CaseRun[]).map((run) => ({ ...run, ...judged(run, rule) }))
  const stamped = runs.toSorted((a, b) => b.created - a.created)[0]
  const submitted = submittedFromRuns(runs)
  return [
    ...sameValue('output', want['output'], newestHealthyRun(runs)?.value ?? null),
    ...sameKeys((want['submitted'] ?? {}) as Want, { ...submitted }),
    ...sameKeys((want['healthy'] ?? {}) as Want, { ...stamped?.verdict }),
  ]
}

function judged({ name, conditions }: CaseRun, rule: HealthRule): { verdict: Verdict; health: Run['health'] } {
  const object: KubeObject = { apiVersion: 'test.run/v1', kind: 'Run', metadata: { name }, status: { conditions } }
  const verdict = healthOf({ spelling: 'healthRule', rule, templateKind: 'ClusterSourceTemplate', object })
  return { verdict, health: verdict.status }
}

const plays: Readonly<Record<string, { readonly area: Area; readonly play: Play }>> = {
  health: {
    area: {
      input: ['spelling', 'rule', 'templateKind', 'object', 'realized'],
      want: ['status', 'reason', 'message', 'messageContains'],
    },
    play: health,
  },
  'aggregate-health': {
    area: { input: ['resources'], want: ['type', 'status', 'reason', 'message'] },
    play: (input, want) => {
      const resources = input['resources'] as readonly { name: string; healthy: Verdict | null }[]
      const judgedOnes = resources.map(({ name, healthy }) => ({ name, healthy: healthy ?? undefined }))
      return sameKeys(want, { ...resourcesHealthy(judgedOnes) })
    },
  },
  ready: {
    area: { input: ['conditions'], want: ['type', 'status', 'reason', 'message'] },
    play: (input, want) => sameKeys(want, { ...readyFrom(input['conditions'] as Parameters<typeof readyFrom>[0]) }),
  },
  templating: { area: { input: ['text', 'context'], want: ['value', 'error'] }, play: templating },
  params: {
    area: { input: ['template', 'blueprint', 'resource', 'owner'], want: ['params'] },
    play: (input, want) =>
      sameKeys(want, {
        params: mergeParams({
          template: listOf<TemplateParam>(input['template']),
          blueprint: listOf<BlueprintParam>(input['blueprint']),
          resource: listOf<BlueprintParam>(input['resource']),
          owner: listOf<OwnerParam>(input['owner']),
        }),
      }),
  },
  'output-digest': {
    area: { input: ['value'], want: ['preview', 'digest'] },
    play: (input, want) => sameKeys(want, { ...summarize(input['value'] as JsonValue) }),
  },
  selection: { area: { input: ['owner', 'selectors'], want: ['winners', 'reason'] }, play: selection },
  immutable: { area: { input: ['rule', 'objects'], want: ['output', 'submitted', 'healthy'] }, play: immutable },
  retention: {
    area: { input: ['retentionPolicy', 'objects'], want: ['deleted'] },
    play: (input, want) => {
      const surplus = runsToPrune(input['objects'] as readonly Run[], input['retentionPolicy'] as RetentionPolicy)
      return sameKeys(want, { deleted: surplus.map(({ name }) => name) })
    },
  },
}

/** The suite. */
export const suite: Suite = {
  areas: Object.fromEntries(Object.entries(plays).map(([name, { area }]) => [name, area])),
  async run({ area, input, want }) {
    return plays[area]!.play(input, want)
  },
}
