// ack.json: runs each case of the generator against the engine of references, of resolution and deletion against the
// engine of AWS resources, of the timeline against their controllers.
import { serviceModel } from '@fairlead/aws/services'
import type { ServiceName } from '@fairlead/aws/services'
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { checkValuePath, cyclesOf } from '@fairlead/references'
import { GeneratorError, classify, generate, readGeneratorConfig, referenceName } from '@fairlead/references/generator'
import type { Generated, ReferenceNaming } from '@fairlead/references/generator'
import type { Case } from '../case-file.ts'
import { contains, holdsFragments, sameValue } from '../comparison.ts'
import type { Disagreement } from '../comparison.ts'
import type { Area, Suite } from '../suite.ts'
import { modelOf } from './model.ts'
import { playTimeline } from './timeline-case.ts'
import type { TimelineCase } from './timeline-case.ts'
import { playDeletion, playResolution } from './reconcile-case.ts'
import type { ReconcileCase } from './reconcile-case.ts'

type Want = Case['want']
type Play = (input: Case['input'], want: Want) => Disagreement[] | Promise<Disagreement[]>

const operations: Play = (input, want) => {
  const config = readGeneratorConfig(input['config'] as JsonValue)
  const actual = (input['ids'] as readonly string[]).map((id) => {
    const [first] = classify(id, config)
    return [first?.type, first?.resource]
  })
  return sameValue('operations', want['operations'], actual)
}

const refNames: Play = (input, want) => {
  const fields = input['fields'] as readonly { readonly name: string; readonly list: boolean }[]
  const naming = (input['ref_naming'] ?? 'seed') as ReferenceNaming
  const names = want['names'] as readonly (string | { readonly error: readonly string[] })[]
  return [
    ...sameValue('names.length', names.length, fields.length),
    ...fields.flatMap(({ name, list }, index) => {
      const at = `names[${index}]`
      const [wanted, came] = [names[index], referenceName(name, list, naming)]
      if (typeof wanted !== 'object' || came !== undefined) return sameValue(at, wanted, came)
      // The message is the generator's, which generates nothing.
      const message = nameError(name, list, naming)
      return holdsFragments(message, wanted.error) ? [] : [{ at, wanted, came: message }]
    }),
  ]
}

/** Returns the generator's error about a field that gets no reference name. */
function nameError(name: string, list: boolean, naming: ReferenceNaming): string {
  const shapes = {
    Input: { structure: { [name]: list ? 'L' : 'String' } },
    Output: { structure: {} },
    L: { list: 'String' },
  }
  const fields = { [name]: { references: { resource: 'Other', path: 'Status.ID' } } }
  const made = generated({
    service: 'library',
    model: { operations: { CreateThing: ['Input', 'Output'] }, shapes },
    config: { resources: { Thing: { fields } } },
    ref_naming: naming,
  })
  return made instanceof GeneratorError ? made.message : ''
}

/** Generates what a case describes; the error when it cannot be. */
function generated(input: Case['input']): Generated | GeneratorError {
  const model = input['model'] as Parameters<typeof modelOf>[0] | undefined
  const kinds = input['kinds'] as readonly string[] | undefined
  try {
    return generate({
      model: model === undefined ? serviceModel(input['service'] as ServiceName) : modelOf(model),
      ...(kinds === undefined ? {} : { resources: kinds }),
      config: readGeneratorConfig(input['config'] as JsonValue),
      service: input['service'] as string,
      naming: (input['ref_naming'] ?? 'seed') as ReferenceNaming,
    })
  } catch (error) {
    if (error instanceof GeneratorError) return error
    throw error
  }
}

/** Returns the schema at a path such as `Endpoint.spec.variants[].name`. */
function schemaAt({ kinds }: Generated, path: string): JsonObject | undefined {
  const [kind, ...steps] = path.split('.')
  const crd = kinds.find((one) => one.kind === kind)?.crd as unknown as
    | { spec: { versions: readonly [{ schema: { openAPIV3Schema: JsonObject } }] } }
    | undefined
  let at: JsonValue | undefined = crd?.spec.versions[0].schema.openAPIV3Schema
  for (const step of steps) {
    if (!isJsonObject(at) || !isJsonObject(at['properties'])) return undefined
    at = at['properties'][step.replaceAll('[]', '')]
    for (let rest = step; rest.endsWith('[]'); rest = rest.slice(0, -2)) at = isJsonObject(at) ? at['items'] : undefined
  }
  return isJsonObject(at) ? at : undefined
}

const hidden = ['ackResourceMetadata', 'conditions', 'observedGeneration', 'resolvedReferences']

/** Returns the names of the top-level fields of a section, without reference fields. */
function fieldsOf(made: Generated, section: 'spec' | 'status'): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    made.kinds.map(({ kind }) => {
      const properties = schemaAt(made, `${kind}.${section}`)?.['properties'] as JsonObject
      return [
        kind,
        Object.keys(properties)
          .filter((name) => section === 'spec' || !hidden.includes(name))
          .toSorted(),
      ]
    }),
  )
}

function referencesOf({ kinds }: Generated): unknown {
  return Object.fromEntries(
    kinds.flatMap(({ kind, references }) =>
      references.map(({ refPath, list, sourceSection }) => [
        `${kind}.spec.${refPath}`,
        { type: list ? 'ref[]' : 'ref', source: sourceSection },
      ]),
    ),
  )
}

const parts: Readonly<Record<string, (made: Generated, wanted: never) => Disagreement[]>> = {
  kinds: (made, wanted) =>
    sameValue('kinds', wanted, Object.fromEntries(made.kinds.map(({ kind, plural }) => [kind, plural]))),
  specFields: (made, wanted) => sameValue('specFields', wanted, fieldsOf(made, 'spec')),
  statusFields: (made, wanted) => sameValue('statusFields', wanted, fieldsOf(made, 'status')),
  required: (made, wanted: Readonly<Record<string, unknown>>) =>
    Object.entries(wanted).flatMap(([path, names]) =>
      sameValue(`required ${path}`, names, schemaAt(made, path)?.['required'] ?? []),
    ),
  references: (made, wanted) => sameValue('references', wanted, referencesOf(made)),
  rules: (made, wanted: readonly unknown[]) => {
    const order = (list: readonly unknown[]): readonly string[] => list.map((one) => JSON.stringify(one)).toSorted()
    const rules = made.kinds.flatMap((kind) =>
      kind.rules.map(({ at, fields }) => ({ at, kind: 'oneOfRequired', fields })),
    )
    return sameValue('rules', order(wanted), order(rules))
  },
  properties: (made, wanted: Readonly<Record<string, { readonly rule?: string }>>) =>
    Object.entries(wanted).flatMap(([path, { rule, ...keywords }]) => {
      const schema = schemaAt(made, path)
      const rules = (schema?.['x-kubernetes-validations'] ?? []) as readonly { readonly rule: string }[]
      const hasRule = rule === undefined || rules.some((one) => one.rule === rule)
      return [
        ...contains(`properties ${path}`, keywords, schema),
        ...(hasRule ? [] : [{ at: `${path} rule`, wanted: rule, came: rules }]),
      ]
    }),
  printerColumns: (made, wanted: Readonly<Record<string, readonly unknown[]>>) =>
    Object.entries(wanted).flatMap(([kind, columns]) => {
      const crd = made.kinds.find((one) => one.kind === kind)?.crd as unknown as {
        spec: { versions: readonly [{ additionalPrinterColumns: readonly unknown[] }] }
      }
      const actual = crd.spec.versions[0].additionalPrinterColumns
      return columns.flatMap((column) =>
        actual.some((one) => contains('', column, one).length === 0)
          ? []
          : [{ at: `columns of ${kind}`, wanted: column, came: actual }],
      )
    }),
  rbac: (made, wanted) =>
    sameValue(
      'rbac',
      wanted,
      made.rbac.map(({ apiGroups, resources, verbs }) => ({ group: apiGroups?.[0], resources, verbs })),
    ),
}

const crd: Play = (input, want) => {
  const made = generated(input)
  if (made instanceof GeneratorError) {
    const fragments = want['error'] as readonly string[] | undefined
    return fragments !== undefined && holdsFragments(made.message, fragments)
      ? []
      : [{ at: 'error', wanted: fragments ?? want, came: made.message }]
  }
  if (want['error'] !== undefined) return [{ at: 'error', wanted: want['error'], came: 'it was generated' }]
  return Object.entries(want).flatMap(([part, wanted]) => parts[part]?.(made, wanted as never) ?? [])
}

const table: Play = (input, want) => {
  const made = generated(input)
  if (made instanceof GeneratorError) return [{ at: 'table', wanted: want['table'], came: made.message }]
  return Object.entries(want['table'] as Readonly<Record<string, readonly object[]>>).flatMap(([kind, rows]) => {
    const actual = made.kinds.find((one) => one.kind === kind)?.references ?? []
    return [
      ...sameValue(`rows of ${kind}`, rows.length, actual.length),
      ...rows.flatMap((row, at) => contains(`${kind}[${at}]`, row, actual[at])),
    ]
  })
}

/** Returns the schema that a shorthand of fields and types describes. */
function schemaOf(value: unknown): JsonObject {
  if (typeof value === 'string') return { type: value }
  const properties = Object.entries(value as object).map(([name, type]) => [name, schemaOf(type)] as const)
  return { type: 'object', properties: Object.fromEntries(properties) }
}

const valuePath: Play = (input, want) => {
  const kind = input['kind'] as string
  const schema = schemaOf((input['referents'] as Readonly<Record<string, unknown>>)[kind])
  const checked = checkValuePath(kind, schema, input['path'] as string)
  const fragments = want['error'] as readonly string[] | undefined
  if ('error' in checked)
    return fragments !== undefined && holdsFragments(checked.error, fragments)
      ? []
      : [{ at: 'path', wanted: want, came: checked.error }]
  return fragments === undefined ? [] : [{ at: 'error', wanted: fragments, came: checked }]
}

const kindCycles: Play = (input, want) => {
  const cycles = cyclesOf(input['edges'] as readonly (readonly [string, string])[])
  return [...sameValue('cycles', want['cycles'], cycles), ...sameValue('severity', want['severity'], 'warning')]
}

const caches = ['table', 'objects', 'crossNamespace']

const condition = ['status', 'reason', 'messageContains']

const cacheParts = {
  'input.table.*[]': ['field', 'ref', 'kind', 'value', 'required', 'list', 'identifier', 'format', 'wait_for'],
  'input.objects[]': [
    'kind',
    'namespace',
    'name',
    'generation',
    'spec',
    'annotations',
    'status',
    'synced',
    'terminal',
    'observedGeneration',
    'deleting',
    'inAWS',
    'resolvedReferences',
  ],
}

const timelineParts = {
  ...cacheParts,
  'input.fakeAws': ['roleUsableAfterMs', 'endpointCreatingMs'],
  'input.steps[]': ['at', 'event', 'object', 'spec', 'synced', 'status'],
  'want.counts.*': ['min', 'max'],
  'want.failedCalls[]': ['call', 'error', 'condition'],
  'want.timing[]': ['call', 'at', 'within'],
  'want.reconciles[]': ['object', 'from', 'to', 'afterStep', 'min', 'max'],
  'want.after[]': ['step', 'object', 'condition', 'gone'],
  'want.after[].condition': condition,
  'want.end': ['synced', 'gone', 'resolved', 'resolvedFrom', 'advisory', 'terminal', 'violations'],
}

const plays: Readonly<Record<string, { readonly area: Area; readonly play: Play }>> = {
  operations: { area: { input: ['ids', 'config'], want: ['operations'] }, play: operations },
  'ref-names': { area: { input: ['ref_naming', 'fields'], want: ['names'] }, play: refNames },
  crd: {
    area: { input: ['service', 'model', 'kinds', 'config', 'ref_naming'], want: [...Object.keys(parts), 'error'] },
    play: crd,
  },
  table: { area: { input: ['service', 'model', 'config'], want: ['table'] }, play: table },
  'value-path': { area: { input: ['referents', 'kind', 'path'], want: ['ok', 'error'] }, play: valuePath },
  'kind-cycles': { area: { input: ['edges'], want: ['cycles', 'severity'] }, play: kindCycles },
  resolution: {
    area: {
      input: [...caches, 'reconcile', 'bothSet', 'times'],
      want: ['resolved', 'condition', 'awsCalls', 'advisory', 'admission', 'lookups', 'managed'],
      parts: { ...cacheParts, 'want.condition': condition },
    },
    play: (input, want) => playResolution(input as unknown as ReconcileCase, want),
  },
  deletion: {
    area: {
      input: [...caches, 'reconcile'],
      want: ['awsWrites', 'finalizer', 'condition'],
      parts: { ...cacheParts, 'want.condition': condition, 'want.awsWrites[]': ['call', 'with'] },
    },
    play: (input, want) => playDeletion(input as unknown as ReconcileCase, want),
  },
  timeline: {
    area: {
      input: [...caches, 'fakeAws', 'steps'],
      want: ['calls', 'counts', 'failedCalls', 'timing', 'reconciles', 'after', 'end'],
      parts: timelineParts,
    },
    play: (input, want) => playTimeline(input as unknown as TimelineCase, want),
  },
}

/** ack.json. */
export const suite: Suite = {
  areas: Object.fromEntries(Object.entries(plays).map(([name, { area }]) => [name, area])),
  run: async ({ area, input, want }) => plays[area]?.play(input, want) ?? [],
}
