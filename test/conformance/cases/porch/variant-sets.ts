// porch.json, areas pvs-*: targets, names, expressions, templates and plans of sets on the engine of
// @fairlead/variants.
import {
  ExpressionError,
  Expressions,
  downstreamPackage,
  downstreamRepo,
  formatSpecError,
  planSet,
  renderTemplate,
  targetErrors,
  variantNames,
  wantedDownstreams,
} from '@fairlead/variants'
import type {
  Downstream,
  ObservedSet,
  Selectable,
  SetSpec,
  SetUpstream,
  TargetFailure,
  Template,
  TemplateVariables,
} from '@fairlead/variants'
import type { KubeObject } from '@fairlead/kube'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { contains, holdsFragments, sameMessages, sameSet, sameValue } from '../comparison.ts'
import type { Area } from '../suite.ts'

interface Player extends Area {
  play(input: Case['input'], want: Case['want']): readonly Disagreement[]
}

/** Players of the areas. */
export const setPlayers: Readonly<Record<string, Player>> = {
  'pvs-targets': {
    input: ['upstream', 'targets', 'repositories', 'objects'],
    want: ['pairs', 'failures'],
    parts: { 'want.failures[]': ['target', 'message'] },
    play(input, want) {
      const { wanted, failures } = wantedDownstreams(specOf(input), upstreamOf(input), sourcesOf(input))
      const pairs = wanted.map((one) => `${one.repo} ${one.package}`)
      return [
        ...sameSet(
          'pairs',
          (want.pairs as [string, string][]).map((pair) => pair.join(' ')),
          pairs,
        ),
        ...sameFailures(want.failures, failures),
      ]
    },
  },
  'pvs-naming': { input: ['set', 'targets'], want: ['names', 'patterns', 'distinct'], play: playNames },
  'pvs-cel': { input: ['field', 'expr', 'variables'], want: ['value', 'error'], play: playExpression },
  'pvs-render': {
    input: ['template', 'variables'],
    want: ['spec'],
    play(input, want) {
      const placed = { template: input.template as Template, path: 'template' }
      const variables = input.variables as TemplateVariables
      const expressions = new Expressions()
      const { repository: _, ...finding } = variables
      const downstream = {
        repo: downstreamRepo(placed, finding, expressions),
        package: downstreamPackage(placed, variables, expressions),
      }
      const upstream = { repo: 'catalog', package: 'web' }
      const spec = renderTemplate(placed, variables, expressions, { upstream, downstream })
      return Object.entries(want.spec as object).flatMap(([key, value]) =>
        sameValue(`spec.${key}`, value, (spec as Readonly<Record<string, unknown>>)[key]),
      )
    },
  },
  'pvs-reconcile': {
    input: ['set', 'upstream', 'targets', 'repositories', 'existing', 'event'],
    want: ['create', 'updateSpec', 'delete', 'failures'],
    parts: {
      'input.existing[]': ['name', 'repo', 'package', 'labels'],
      'input.event': ['kind', 'name', 'labels'],
      'want.failures[]': ['target', 'message'],
    },
    play: playReconcile,
  },
  'pvs-validate': {
    input: ['targets'],
    want: ['errors'],
    play(input, want) {
      const errors = targetErrors(input.targets as SetSpec['targets']).map(formatSpecError)
      return sameMessages('errors', want.errors as string[][], errors)
    },
  },
}

function playNames(input: Case['input'], want: Case['want']): Disagreement[] {
  const targets = input.targets as Downstream[]
  const byDownstream = variantNames(String(input.set), targets)
  const names = targets.map((target) => byDownstream.get(`${target.repo}\0${target.package}`)!)
  const patterns = (want.patterns ?? []) as string[]
  return [
    ...(want.names === undefined ? [] : sameValue('names', want.names, names)),
    ...patterns.flatMap((pattern, at) =>
      new RegExp(pattern).test(names[at]!) ? [] : [{ at: `patterns[${at}]`, wanted: pattern, came: names[at] }],
    ),
    ...sameValue('distinct', want.distinct, new Set(names).size === names.length),
    ...names.filter((name) => name.length > 63).map((came) => ({ at: 'names', wanted: 'at most 63 characters', came })),
  ]
}

function playExpression(input: Case['input'], want: Case['want']): Disagreement[] {
  const field = String(input.field)
  const { repository, ...finding } = input.variables as TemplateVariables
  // The expression that finds the repository has no variable of that name.
  const variables: TemplateVariables =
    field.endsWith('repoExpr') || repository === undefined ? finding : { ...finding, repository }
  try {
    const value = new Expressions().string(field, String(input.expr), variables)
    return contains('value', want, { value })
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    const fragments = want.error as string[] | undefined
    if (fragments !== undefined && holdsFragments(error.message, fragments)) return []
    return [{ at: 'error', wanted: want, came: error.message }]
  }
}

function playReconcile(input: Case['input'], want: Case['want']): Disagreement[] {
  const event = input.event as { readonly name: string; readonly labels: Record<string, string> } | undefined
  const { repositories, ...sources } = sourcesOf(input)
  const changed = repositories.filter(({ name }) => name !== event?.name)
  if (event !== undefined)
    changed.push({
      ...(repositories.find(({ name }) => name === event.name) ?? asSelectable(event)),
      labels: event.labels,
    })
  const set: ObservedSet = {
    ...sources,
    name: String(input.set),
    spec: specOf(input),
    upstream: upstreamOf(input),
    repositories: changed,
    variants: (
      input.existing as { readonly name: string; readonly repo: string; readonly package: string; labels?: object }[]
    ).map(({ name, repo, package: path, labels }) => ({
      name,
      repo,
      package: path,
      spec: {
        upstream: upstreamOf(input).reference,
        downstream: { repo, package: path },
        ...(labels && { labels: labels as Record<string, string> }),
      },
      isOpen: false,
      isTerminating: false,
    })),
  }
  const { decisions, failures } = planSet(set)
  const named = (verb: string): string[] =>
    decisions.filter((one) => one.do === verb).map(({ variant }) => variant.name)
  return [
    ...sameSet('create', want.create as string[], named('create')),
    ...sameSet('updateSpec', want.updateSpec as string[], named('update')),
    ...sameSet('delete', want.delete as string[], named('delete')),
    ...sameFailures(want.failures, failures),
  ]
}

function sameFailures(wanted: unknown, came: readonly TargetFailure[]): Disagreement[] {
  const failures = wanted as { readonly target: number; readonly message: string[] }[]
  const agrees =
    failures.length === came.length &&
    failures.every((one, at) => one.target === came[at]!.target && holdsFragments(came[at]!.message, one.message))
  return agrees ? [] : [{ at: 'failures', wanted, came }]
}

function specOf(input: Case['input']): SetSpec {
  return { upstream: input.upstream, targets: input.targets } as SetSpec
}

function upstreamOf(input: Case['input']): SetUpstream {
  const reference = input.upstream as SetUpstream['reference']
  const revision = { name: `${reference.repo}.${reference.package}.v1`, namespace: 'ns1', labels: {}, annotations: {} }
  return { revision, reference }
}

function sourcesOf(input: Case['input']): Pick<ObservedSet, 'repositories' | 'objects'> {
  const named = (input.targets as SetSpec['targets']).flatMap(({ repositories = [] }) =>
    repositories.map(({ name }) => ({ name })),
  )
  const given = (input.repositories ?? []) as Partial<Selectable>[]
  const objects = (input.objects ?? []) as KubeObject[]
  return {
    repositories: (given.length === 0 ? named : given).map(asSelectable),
    objects: ({ apiVersion, kind }) => ({
      objects: objects
        .filter((one) => one.apiVersion === apiVersion && one.kind === kind)
        .map(({ metadata, ...flat }) => asSelectable(metadata ?? (flat as Partial<Selectable>))),
    }),
  }
}

function asSelectable({ name = '', labels = {}, annotations = {} }: Partial<Selectable>): Selectable {
  return { name, namespace: 'ns1', labels, annotations }
}
