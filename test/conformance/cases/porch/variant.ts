// The areas `pv-*` of porch.json, on the engine of @fairlead/variants.
import { stringifyYaml, parseYamlDocuments } from '@fairlead/kube'
import type { Condition, JsonObject, KubeObject } from '@fairlead/kube'
import { packageRevisionName } from '@fairlead/packages'
import type { Task } from '@fairlead/packages'
import {
  candidateNames,
  decideInjection,
  injectionPoints,
  nextWorkspaceName,
  planDownstream,
  planRevisionCleanup,
  planUpdate,
  selectUpstream,
  specErrors,
  variantConditions,
  withContext,
  withDefaults,
  withFunctions,
  withInjection,
} from '@fairlead/variants'
import type {
  GivenSpec,
  InjectionPoint,
  ObservedRevision,
  PackageText,
  PackageVariantSpec,
  RevisionAction,
} from '@fairlead/variants'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { contains, sameElements, sameMessages, sameSet, sameValue } from '../comparison.ts'
import type { Area } from '../suite.ts'

interface Player extends Area {
  play(input: Case['input'], want: Case['want']): readonly Disagreement[]
}

const uid = 'variant'

/** The areas of variants. */
export const variantPlayers: Readonly<Record<string, Player>> = {
  'pv-validate': { input: ['spec'], want: ['errors', 'conditions', 'requeue', 'effective'], play: playValidate },
  'pv-upstream': {
    input: ['upstream', 'packageRevisions'],
    want: ['selected', 'conditions', 'requeue', 'warnings'],
    play: playUpstream,
  },
  'pv-workspace': {
    input: ['downstream', 'packageRevisions'],
    want: ['workspaceName'],
    play: ({ downstream, packageRevisions }, want) =>
      sameValue(
        'workspaceName',
        want.workspaceName,
        nextWorkspaceName(downstream as never, revisionsOf(packageRevisions)),
      ),
  },
  'pv-downstream': {
    input: ['downstream', 'adoptionPolicy', 'deletionPolicy', 'labels', 'packageRevisions'],
    want: ['targets', 'actions'],
    play: playDownstream,
  },
  'pv-delete': {
    input: ['deletionPolicy', 'lifecycle', 'owners', 'fault'],
    want: ['actions', 'owners', 'finalizer', 'conditions', 'requeue'],
    play: playDelete,
  },
  'pv-functions': {
    input: ['variant', 'pipeline', 'kptfilePipeline', 'runs'],
    want: ['images', 'kptfilePipeline'],
    play: playFunctions,
  },
  'pv-context': { input: ['packageContext', 'contextFile'], want: ['created', 'data'], play: playContext },
  'pv-injection': {
    input: ['namespace', 'injectors', 'points', 'cluster'],
    want: ['saved', 'points', 'kptfileConditions', 'readinessGates', 'ready'],
    play: playInjection,
  },
  'pv-upgrade': {
    input: ['upstream', 'downstream', 'upstreamNow', 'changed'],
    want: ['newRevision', 'rebased', 'lifecycle', 'writes', 'reports'],
    play: playUpgrade,
  },
}

interface GivenRevision {
  readonly name?: string
  readonly repository: string
  readonly packageName: string
  readonly workspaceName: string
  readonly revision: number
  readonly lifecycle: ObservedRevision['lifecycle']
  readonly ownedByPV?: boolean
}

function revisionsOf(given: unknown): ObservedRevision[] {
  return (given as GivenRevision[]).map((revision) => ({
    labels: {},
    version: undefined,
    owners: revision.ownedByPV === true ? [uid] : [],
    controller: revision.ownedByPV === true ? uid : undefined,
    ref: undefined,
    commit: `commit of ${packageRevisionName(revision)}`,
    upstreamLock: undefined,
    ...revision,
    name: revision.name ?? packageRevisionName(revision),
  }))
}

function conditions(wanted: unknown, came: readonly Condition[]): Disagreement[] {
  return ((wanted ?? []) as Condition[]).flatMap((one) =>
    contains(
      `conditions.${one.type}`,
      one,
      came.find(({ type }) => type === one.type),
    ),
  )
}

function optional(want: Case['want'], key: string, came: unknown): Disagreement[] {
  return want[key] === undefined ? [] : contains(key, want[key], came)
}

function playValidate(input: Case['input'], want: Case['want']): Disagreement[] {
  const spec = withDefaults(input.spec as GivenSpec)
  const errors = specErrors(spec)
  return [
    ...sameMessages('errors', want.errors as string[][], errors),
    ...conditions(want.conditions, variantConditions({ specErrors: errors })),
    // Only a change of the spec can help.
    ...optional(want, 'requeue', false),
    ...optional(want, 'effective', spec),
  ]
}

function playUpstream(input: Case['input'], want: Case['want']): Disagreement[] {
  const { revision, warnings, ...rest } = selectUpstream(
    input.upstream as PackageVariantSpec['upstream'],
    revisionsOf(input.packageRevisions),
  )
  const upstream = 'problem' in rest ? { problem: rest.problem } : { name: revision!.name, warnings }
  return [
    ...(want.selected === null
      ? sameValue('selected', null, revision ?? null)
      : contains('selected', want.selected, revision)),
    ...conditions(want.conditions, variantConditions({ upstream })),
    ...optional(want, 'requeue', revision === undefined),
    ...(want.warnings === undefined ? [] : sameMessages('warnings', want.warnings as string[][], warnings)),
  ]
}

function shownAction(
  { op, name, ...action }: RevisionAction,
  labels: unknown,
): { readonly op: string; readonly name: string } {
  return { op, name, ...('to' in action && { to: action.to }), ...(op === 'adopt' && { labels }) }
}

function playDownstream(input: Case['input'], want: Case['want']): Disagreement[] {
  const spec = withDefaults(input as GivenSpec)
  const plan = planDownstream({ uid, spec }, revisionsOf(input.packageRevisions))
  return [
    ...sameSet(
      'targets',
      want.targets as string[],
      plan.targets.map(({ name }) => name),
    ),
    ...sameElements(
      'actions',
      want.actions as readonly unknown[],
      plan.actions.map((action) => shownAction(action, input.labels)),
    ),
  ]
}

function playDelete(input: Case['input'], want: Case['want']): Disagreement[] {
  const [revision] = revisionsOf([
    { repository: 'edge', packageName: 'web', workspaceName: 'w', revision: 1, lifecycle: input.lifecycle },
  ])
  const actions = planRevisionCleanup(revision!, input.deletionPolicy as PackageVariantSpec['deletionPolicy'])
  const isFailed = actions.some(({ op }) => op === input.fault)
  const owners = input.owners as string[]
  const left = actions.reduce<string[] | null>((rest, { op }) => {
    if (isFailed) return rest
    if (op === 'delete') return null
    return op === 'removeOwnerReference' ? (rest ?? []).filter((owner) => owner !== uid) : rest
  }, owners)
  return [
    ...sameValue(
      'actions',
      want.actions,
      actions.map((action) => {
        const { name: _name, ...shown } = shownAction(action, {})
        return shown
      }),
    ),
    ...sameValue('owners', want.owners, left),
    ...sameValue('finalizer', want.finalizer, isFailed ? 'kept' : 'removed'),
    ...conditions(want.conditions, variantConditions(isFailed ? { error: 'the git server is down' } : {})),
    ...optional(want, 'requeue', isFailed),
  ]
}

function kptfileWith(pipeline: unknown): string {
  const kptfile = { apiVersion: 'kpt.dev/v1', kind: 'Kptfile', metadata: { name: 'pkg' } }
  return stringifyYaml((pipeline === null ? kptfile : { ...kptfile, pipeline }) as JsonObject)
}

function only(text: string): JsonObject {
  return parseYamlDocuments(text)[0] as JsonObject
}

function playFunctions(input: Case['input'], want: Case['want']): Disagreement[] {
  let files: PackageText = { Kptfile: kptfileWith(input.kptfilePipeline) }
  const found: Disagreement[] = []
  for (let run = 1; run <= Number(input.runs); run++) {
    files = withFunctions(files, String(input.variant), input.pipeline as PackageVariantSpec['pipeline'])
    const pipeline = (only(files['Kptfile']!)['pipeline'] ?? null) as unknown
    if (want.kptfilePipeline !== undefined)
      found.push(...sameValue(`kptfilePipeline of run ${run}`, want.kptfilePipeline, pipeline))
  }
  const mutators = ((only(files['Kptfile']!)['pipeline'] as JsonObject | undefined)?.['mutators'] ?? []) as JsonObject[]
  return [
    ...found,
    ...sameValue(
      'images',
      want.images,
      mutators.map(({ image }) => image),
    ),
  ]
}

function playContext(input: Case['input'], want: Case['want']): Disagreement[] {
  const before: PackageText =
    input.contextFile === null ? {} : { 'package-context.yaml': stringifyYaml(input.contextFile as JsonObject) }
  const packageContext = input.packageContext as PackageVariantSpec['packageContext']
  const after = withContext(before, { variant: 'pv', packageName: 'web', packageContext })
  const file = after['package-context.yaml']
  const data = { ...((file === undefined ? {} : only(file)['data']) as JsonObject) } as Record<string, unknown>
  for (const key of ['name', 'package-path']) if (!(key in (want.data as object))) delete data[key]
  return [
    ...sameValue('created', want.created, input.contextFile === null && file !== undefined),
    ...sameValue('data', want.data, data),
  ]
}

function playInjection(input: Case['input'], want: Case['want']): Disagreement[] {
  const files: PackageText = {
    Kptfile: kptfileWith(null),
    ...Object.fromEntries(
      (input.points as JsonObject[]).map((point, index) => [`point-${index}.yaml`, stringifyYaml(point)]),
    ),
  }
  const injectors = input.injectors as NonNullable<PackageVariantSpec['injectors']>
  const { points, errors } = injectionPoints(files)
  const cluster = input.cluster as KubeObject[]
  const sources = (point: InjectionPoint): ReadonlyMap<string, KubeObject> =>
    new Map(
      candidateNames(point, injectors).flatMap((name) =>
        cluster
          .filter(({ apiVersion, kind, metadata }) => {
            if (apiVersion !== point.apiVersion || kind !== point.kind) return false
            return metadata.name === name && metadata.namespace === input.namespace
          })
          .map((object) => [name, object] as const),
      ),
    )
  const decisions = points.map((point) => decideInjection(point, injectors, { objects: sources(point) }))
  const isSaved = errors.length === 0
  const after = isSaved ? withInjection(files, decisions) : files
  const kptfile = only(after['Kptfile']!)
  const gates = ((kptfile['info'] as JsonObject | undefined)?.['readinessGates'] ?? []) as JsonObject[]
  const found = ((kptfile['status'] as JsonObject | undefined)?.['conditions'] ?? []) as JsonObject[]
  const unmetGates = gates
    .map(({ conditionType }) => String(conditionType))
    .filter((type) => found.find((one) => one['type'] === type)?.['status'] !== 'True')
  const ready = variantConditions({ injection: { decisions, errors }, unmetGates }).find(({ type }) => type === 'Ready')
  return [
    ...sameValue('saved', want.saved, isSaved),
    ...((want.points ?? []) as { kind: string; name: string; injectedResource: string | null }[]).flatMap(
      ({ injectedResource, ...wanted }) => {
        const object = Object.values(after)
          .map(only)
          .find(({ kind, metadata }) => kind === wanted.kind && (metadata as JsonObject)['name'] === wanted.name)!
        const annotations = ((object['metadata'] as JsonObject)['annotations'] ?? {}) as JsonObject
        const { kind: _kind, name: _name, ...content } = wanted as unknown as JsonObject
        return [
          ...sameValue('injectedResource', injectedResource, annotations['kpt.dev/injected-resource'] ?? null),
          ...Object.entries(content).flatMap(([field, value]) => sameValue(field, value, object[field])),
        ]
      },
    ),
    ...((want.kptfileConditions ?? []) as JsonObject[]).flatMap((one) =>
      contains(
        `kptfileConditions.${String(one['type'])}`,
        one,
        found.find(({ type }) => type === one['type']),
      ),
    ),
    ...(want.readinessGates === undefined
      ? []
      : sameValue(
          'readinessGates',
          want.readinessGates,
          gates.map(({ conditionType }) => conditionType),
        )),
    ...optional(want, 'ready', ready),
  ]
}

interface UpgradeInput {
  readonly upstream: { readonly repo: string; readonly package: string }
  readonly downstream: {
    readonly repo: string
    readonly package: string
    readonly workspaceName: string
    readonly revision: number
    readonly lifecycle: ObservedRevision['lifecycle']
    readonly upstream: { readonly workspaceName: string; readonly revision: number }
  }
  readonly upstreamNow: { readonly workspaceName: string; readonly revision: number }
  readonly changed: readonly string[]
}

const contentFields = [
  'spec.packageContext',
  'spec.pipeline',
  'spec.injectors',
  'spec.injectionSelectors',
  'injected-object',
]

function playUpgrade(input: Case['input'], want: Case['want']): Disagreement[] {
  const { upstream, downstream, upstreamNow, changed } = input as unknown as UpgradeInput
  const of = (revision: { workspaceName: string; revision: number }): ObservedRevision =>
    revisionsOf([{ repository: upstream.repo, packageName: upstream.package, lifecycle: 'Published', ...revision }])[0]!
  const [former, now] = [of(downstream.upstream), of(upstreamNow)]
  const given = { ...downstream, repository: downstream.repo, packageName: downstream.package, ownedByPV: true }
  const target: ObservedRevision = {
    ...revisionsOf([given])[0]!,
    name: packageRevisionName(given),
    upstreamLock: { commit: former.commit! },
  }
  const spec = withDefaults({ downstream })
  const { targets } = planDownstream({ uid, spec }, [target])
  const plan = planUpdate({
    spec,
    upstream: now,
    target: targets[0]!,
    upstreams: [former, now],
    // What else the spec says is of the revision or of its end, not of its content.
    isChanged: changed.some((what) => contentFields.some((field) => what === field || what.startsWith(`${field}.`))),
  })
  const tasks = 'task' in plan ? shownTask(plan.task) : undefined
  const isRestored = target.lifecycle === 'DeletionProposed'
  return [
    ...optional(want, 'lifecycle', isRestored ? 'Published' : target.lifecycle),
    ...(want.newRevision === null
      ? sameValue('newRevision', null, plan.op === 'create' ? plan : null)
      : contains('newRevision', want.newRevision, {
          workspaceName: nextWorkspaceName(downstream, [target]),
          lifecycle: 'Draft',
          task: plan.op === 'create' ? tasks : undefined,
        })),
    ...(want.rebased === null
      ? sameValue('rebased', null, plan.op === 'rebase' ? plan : null)
      : contains('rebased', want.rebased, plan.op === 'rebase' ? tasks : undefined)),
    ...optional(want, 'writes', plan.op === 'keep' || plan.op === 'wait' ? 0 : 1),
    ...((want.reports ?? []) as string[]).flatMap((word) => {
      const pending = plan.op === 'wait' ? { pending: plan.reason } : {}
      const words = variantConditions(pending).flatMap(({ type, reason }) => [type, reason])
      return words.includes(word) ? [] : [{ at: 'reports', wanted: word, came: words }]
    }),
  ]
}

function shownTask({ type, upgrade, edit }: Task): Readonly<Record<string, unknown>> {
  if (edit !== undefined) return { type, source: edit.sourceRef?.name }
  return {
    type,
    oldUpstream: upgrade?.oldUpstreamRef?.name,
    newUpstream: upgrade?.newUpstreamRef?.name,
    local: upgrade?.localPackageRevisionRef?.name,
    strategy: upgrade?.strategy,
  }
}
