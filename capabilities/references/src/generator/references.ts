// Adds the reference fields of a kind to its schema, and the rows of the references manifest (originals/ack.md §2.7).
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { BothSet, Identifier, ReferenceRow, ReferentKind, WaitFor } from '../engine/reference-table.ts'
import type { ReferenceConfig, ReferentConfig } from './generator-config.ts'
import { GeneratorError } from './generator-error.ts'
import type { Schema } from './field-schema.ts'
import { fieldName, identifierSort, referenceName } from './names.ts'
import type { ReferenceNaming } from './names.ts'

/** A generated reference: its row, and the section of the referent that its value is in. */
export interface GeneratedReference extends ReferenceRow {
  readonly sourceSection: 'spec' | 'status'
}

/** A rule that one of two fields must be set, at a path below the kind. */
export interface OneOfRule {
  readonly at: string
  readonly fields: readonly string[]
}

/** References of one kind. */
export interface KindReferences {
  readonly rows: readonly GeneratedReference[]
  readonly rules: readonly OneOfRule[]
}

/** Options of {@link addReferences}. */
export interface ReferenceOptions {
  readonly kind: string
  readonly service: string
  readonly version: string
  readonly naming: ReferenceNaming
  readonly bothSet: BothSet
}

/** Returns the kinds that a reference may name. */
export function referentsOf(row: ReferenceRow): readonly ReferentKind[] {
  return [row, ...(row.kinds ?? [])]
}

/** Group of the kinds of a service. */
export function groupOf(service: string): string {
  return `${service}.services.k8s.aws`
}

const text = (maxLength: number): JsonObject => ({ type: 'string', minLength: 1, maxLength })
const namespace: JsonObject = {
  type: 'string',
  maxLength: 63,
  description: 'Its namespace; that of this object when left out.',
}
const named: JsonObject = {
  type: 'object',
  required: ['name'],
  properties: { name: { ...text(253), description: 'Name of the object.' }, namespace },
}
const spellings = ['name', 'from', 'kubernetesReference', 'external', 'externalIdentifiers']

const exactlyOne = `exactly one of ${spellings.join(', ')} must be set`
const onlyBesideName = 'namespace is allowed only beside name'

/**
 * Returns the rules of one reference. CEL gives the better message; below a list without a bound its cost would be
 * refused, and JSON schema says the same.
 */
function referenceRules(bounded: boolean, choosesKind: boolean): JsonObject {
  if (!bounded)
    return {
      oneOf: spellings.map((name) => ({ required: [name] })),
      anyOf: [{ required: ['name'] }, { not: { required: ['namespace'] } }],
      ...(choosesKind ? { allOf: [{ anyOf: [{ required: ['name'] }, { not: { required: ['kind'] } }] }] } : {}),
    }
  const set = spellings.map((name) => `has(self.${name})`).join(', ')
  return {
    'x-kubernetes-validations': [
      { rule: `[${set}].filter(is, is).size() == 1`, message: exactlyOne },
      { rule: '!has(self.namespace) || has(self.name)', message: onlyBesideName },
      ...(choosesKind
        ? [{ rule: '!has(self.kind) || has(self.name)', message: 'kind is allowed only beside name' }]
        : []),
    ],
  }
}

/** Returns a kind with its article. */
export function withArticle(kind: string): string {
  return `${/^(?:[AEIO]|U(?!ser))/.test(kind) ? 'an' : 'a'} ${kind}`
}

/** The state in which a referent gives its value, in words. */
export const readiness: Readonly<Record<WaitFor, string>> = {
  Synced: 'once it is synced',
  Value: 'as soon as it has one',
  Exists: 'as soon as it has one, even after a failure',
}

/** Returns the schema of one reference, in any of its spellings. */
function referenceSchema(config: ReferenceConfig, identifier: Identifier | undefined, bounded: boolean): JsonObject {
  const { kind, kinds, waitFor } = config
  const choice: JsonObject =
    kinds.length === 0
      ? {}
      : {
          kind: {
            type: 'string',
            enum: [kind, ...kinds.map((one) => one.kind)],
            description: `Kind of the object; ${kind} when left out.`,
          },
        }
  const object: JsonObject = { ...named, properties: { ...(named['properties'] as JsonObject), ...choice } }
  const taken = [config, ...kinds].map((one) => `${withArticle(one.kind)}, whose ${one.path} is taken`).join(', or to ')
  const sorts = { arn: 'ARN', name: 'Name', id: 'Id' } as const
  const identifiers = Object.entries(sorts)
    .filter(([sort]) => identifier === undefined || sort === identifier)
    .map(([sort, label]) => [sort, { ...text(2048), description: `${label} of the resource.` }])
  return {
    type: 'object',
    description: `Refers to ${taken} ${readiness[waitFor]}: ${exactlyOne}; ${onlyBesideName}.`,
    properties: {
      name: { ...text(253), description: `Name of the ${kinds.length === 0 ? kind : 'object'}.` },
      namespace,
      ...choice,
      external: { ...text(2048), description: 'The value itself, of a resource that no object describes.' },
      externalIdentifiers: {
        type: 'object',
        description: 'The same, by the sort of the identifier.',
        minProperties: 1,
        maxProperties: 1,
        properties: Object.fromEntries(identifiers),
      },
      from: { ...object, description: 'The same as name and namespace.' },
      kubernetesReference: { ...object, description: 'The same as name and namespace.' },
    },
    ...referenceRules(bounded, kinds.length > 0),
  }
}

/**
 * Returns the sort of identifier that a field takes: what the values of its references are, where their names say it.
 * A value in a template may be a part of the identifier.
 */
function identifierOf({ path, kinds, format }: ReferenceConfig): Identifier | undefined {
  if (format !== undefined) return undefined
  const [sort, ...others] = new Set([path, ...kinds.map((one) => one.path)].map(identifierSort))
  return others.length === 0 ? sort : undefined
}

interface Place {
  /** Schema that holds the field. */
  readonly holder: Schema
  /** Its path below the kind, such as `Endpoint.spec.variants[]`. */
  readonly at: string
  /** Path of the field below the spec. */
  readonly path: string
  readonly name: string
  /** Set when every list on the way has a largest length. */
  readonly bounded: boolean
}

/** Finds the schema that holds a field. Throws GeneratorError `InvalidReference`. */
function placeOf(spec: Schema, kind: string, path: string): Place {
  const segments = path.split('.')
  let holder = spec
  let at = `${kind}.spec`
  const below: string[] = []
  let bounded = true
  for (const [index, segment] of segments.entries()) {
    const properties = (holder['properties'] ?? {}) as Schema
    const name = Object.keys(properties).find((one) => one.toLowerCase() === fieldName(segment).toLowerCase())
    if (name === undefined) throw wrong(kind, path, `${at} has no field ${segment}`)
    if (index === segments.length - 1) return { holder, at, path: [...below, name].join('.'), name, bounded }
    let next = properties[name] as Schema
    let step = name
    while (next['type'] === 'array') {
      bounded &&= next['maxItems'] !== undefined
      next = next['items'] as Schema
      step += '[]'
    }
    if (next['additionalProperties'] !== undefined)
      throw wrong(kind, path, `${at}.${name} is a map; a reference cannot be in a map`)
    holder = next
    at = `${at}.${step}`
    below.push(step)
  }
  throw wrong(kind, path, 'is empty')
}

function wrong(kind: string, path: string, message: string): GeneratorError {
  return new GeneratorError('InvalidReference', `resources.${kind}.fields.${path}.references: ${message}`)
}

/** Returns a value path with the names of manifests; metadata of ACK has a name that follows no rule. */
function valuePathOf(path: string): string {
  const [section = '', ...rest] = path.split('.')
  return [
    section.toLowerCase(),
    ...rest.map((name) => (/^ackresourcemetadata$/i.test(name) ? 'ackResourceMetadata' : fieldName(name))),
  ].join('.')
}

/**
 * Adds the reference fields to the schema of a spec, which is changed: the plain field is no longer required, and one
 * of the two must be set where it was. `given` are the configurations by API path.
 * @throws GeneratorError `InvalidReference`
 */
export function addReferences(
  spec: Schema,
  given: readonly (readonly [path: string, config: ReferenceConfig])[],
  options: ReferenceOptions,
): KindReferences {
  const rows: GeneratedReference[] = []
  const rules: OneOfRule[] = []
  const taken = new Map<string, string>()
  for (const [path, config] of given.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { holder, at, path: fieldPath, name, bounded } = placeOf(spec, options.kind, path)
    const properties = holder['properties'] as Schema
    const plain = properties[name] as Schema
    const list = plain['type'] === 'array'
    const leaf = list ? (plain['items'] as Schema) : plain
    if (leaf['type'] !== 'string')
      throw wrong(options.kind, path, `${at}.${name} is of type ${String(leaf['type'])}, it must be a string`)
    const apiName = path.split('.').at(-1) as string
    const refName = config.refField ?? referenceName(apiName, list, options.naming)
    if (refName === undefined) throw wrong(options.kind, path, `${apiName} is nothing but an identifier; set ref_field`)
    const before = taken.get(`${at}.${refName}`)
    if (before !== undefined || properties[refName] !== undefined)
      throw wrong(
        options.kind,
        path,
        `its reference field ${refName} would collide with that of ${before ?? refName}; set ref_field for ${path}`,
      )
    taken.set(`${at}.${refName}`, path)
    const identifier = config.identifier ?? identifierOf(config)
    const reference = referenceSchema(config, identifier, bounded && (!list || plain['maxItems'] !== undefined))
    properties[refName] = list
      ? {
          type: 'array',
          description: `Refers to objects of the kind ${config.kind}: one item for each value of ${name}.`,
          items: reference,
          'x-kubernetes-list-type': 'atomic',
          ...(plain['maxItems'] === undefined ? {} : { maxItems: plain['maxItems'] }),
        }
      : reference
    const required = isRequired(holder, name)
    const bothSet = config.bothSet ?? options.bothSet
    if (required) {
      rules.push({ at, fields: [name, refName].toSorted() })
      addRule(holder, `has(self.${name}) || has(self.${refName})`, `one of ${name} and ${refName} must be set`)
    }
    if (bothSet === 'reject')
      addRule(holder, `!(has(self.${name}) && has(self.${refName}))`, `${name} and ${refName} must not both be set`)
    const referents = [config, ...config.kinds].map((one) => referentOf(one, options, path))
    const [{ section, ...referent }, ...others] = referents as [Referent, ...Referent[]]
    const refPath = fieldPath.slice(0, fieldPath.length - name.length) + refName
    rows.push({
      fieldPath,
      refPath,
      list,
      required,
      ...referent,
      sourceSection: section,
      waitFor: config.waitFor,
      bothSet,
      ...(config.format === undefined ? {} : { format: config.format }),
      ...(identifier === undefined ? {} : { identifier }),
      ...(others.length === 0 ? {} : { kinds: others.map(({ section: _section, ...one }) => one) }),
    })
  }
  return { rows, rules }
}

type Referent = ReferentKind & { readonly section: 'spec' | 'status' }

/** Returns a kind that a reference may name. Throws GeneratorError `InvalidReference`. */
function referentOf(config: ReferentConfig, options: ReferenceOptions, path: string): Referent {
  const valuePath = valuePathOf(config.path)
  const section = valuePath.split('.')[0]
  if (section !== 'spec' && section !== 'status')
    throw wrong(options.kind, path, `path ${config.path} must begin with Spec or Status`)
  const [group = '', version = ''] = config.apiVersion?.split('/') ?? [
    groupOf(config.service ?? options.service),
    options.version,
  ]
  return { group, version, kind: config.kind, valuePath, section }
}

/** Takes a field off the required ones; reports whether it was one. */
function isRequired(holder: Schema, name: string): boolean {
  const required = holder['required']
  if (!isJsonArray(required) || !required.includes(name)) return false
  const rest = required.filter((one) => one !== name)
  if (rest.length === 0) delete holder['required']
  else holder['required'] = rest
  return true
}

function addRule(holder: Schema, rule: string, message: string): void {
  const rules = holder['x-kubernetes-validations']
  const before: readonly JsonValue[] = isJsonArray(rules) ? rules : []
  holder['x-kubernetes-validations'] = [...before, { rule, message }]
}

/** Adds a rule to a property that forbids changes. */
export function makeImmutable(property: JsonValue | undefined): void {
  if (isJsonObject(property)) addRule(property as Schema, 'self == oldSelf', 'Value is immutable once set')
}
