// Generates the kinds of a service: CRDs with reference fields, the references manifest, rights and the graph of kinds.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { PolicyRule } from '@fairlead/controller'
import { cyclesOf } from '../engine/cycles.ts'
import type { BothSet } from '../engine/reference-table.ts'
import { SchemaMaker } from './field-schema.ts'
import type { Schema } from './field-schema.ts'
import { schemasOf, withCheckedPaths } from './value-paths.ts'
import type { FieldConfig, GeneratorConfig } from './generator-config.ts'
import { GeneratorError } from './generator-error.ts'
import { fieldName, kindName, pluralName } from './names.ts'
import type { ReferenceNaming } from './names.ts'
import { addReferences, groupOf, makeImmutable, referentsOf } from './references.ts'
import type { GeneratedReference, OneOfRule } from './references.ts'
import { resourceNames, resourcesOf, withoutIgnored } from './resource-fields.ts'
import type { Resource, ResourceField } from './resource-fields.ts'
import type { ServiceModel } from './service-model.ts'

/** Options of {@link generate}. */
export interface GenerateOptions {
  readonly model: ServiceModel
  readonly config: GeneratorConfig
  /** Package name of the service: `sagemaker`. */
  readonly service: string
  /** Version of the API group; v1alpha1 when left out. */
  readonly version?: string
  /** That of the configuration when left out, else `seed`. */
  readonly naming?: ReferenceNaming
  /** That of the configuration when left out, else `prefer_external`. */
  readonly bothSet?: BothSet
  /** Names in the API of the resources to generate; all when left out. */
  readonly resources?: readonly string[]
  /** CustomResourceDefinitions of kinds of other services: references to them are checked, too. */
  readonly referents?: readonly KubeObject[]
}

/** One generated kind. */
export interface GeneratedKind {
  readonly kind: string
  readonly plural: string
  readonly crd: KubeObject
  readonly references: readonly GeneratedReference[]
  readonly rules: readonly OneOfRule[]
  /** Paths below the spec of fields that the service fills in (`late_initialize`), sorted. */
  readonly lateInitialized: readonly string[]
}

/** Everything that is generated for a service. */
export interface Generated {
  readonly group: string
  readonly version: string
  readonly kinds: readonly GeneratedKind[]
  /** Rights on the kinds of other groups that are referred to. */
  readonly rbac: readonly PolicyRule[]
  /** Kinds that refer to each other in a circle: a warning, they need `wait_for: Value`. */
  readonly cycles: readonly (readonly string[])[]
  /** Resources that the configuration names and the model does not create. */
  readonly unused: readonly string[]
}

/**
 * Generates the kinds of a service.
 * @throws GeneratorError
 */
export function generate(options: GenerateOptions): Generated {
  const { config, service, version = 'v1alpha1' } = options
  const group = groupOf(service)
  // Types of the configuration become shapes of the model that is read from here on.
  const model = withoutIgnored(options.model, config)
  const made = resourcesOf(model, config, options.resources).map((resource) =>
    kindOf(resource, model, { ...options, version }),
  )
  const schemas = schemasOf([...(options.referents ?? []), ...made.map(({ crd }) => crd)])
  const kinds = made.map((kind) => withCheckedPaths(kind, schemas))
  const edges = kinds.flatMap(({ kind, references }) =>
    references.flatMap((row) => referentsOf(row).map((referent) => [kind, referent.kind] as const)),
  )
  const created = new Set(resourceNames(model, config))
  const unused = [...config.resources.keys()].filter((name) => !created.has(name))
  return { group, version, kinds, rbac: rbacOf(kinds, group), cycles: cyclesOf(edges), unused }
}

function kindOf(
  resource: Resource,
  model: ServiceModel,
  options: GenerateOptions & { readonly version: string },
): GeneratedKind {
  const { config, service, version } = options
  const { naming = config.refNaming ?? 'seed', bothSet = config.bothSet ?? 'prefer_external' } = options
  const kind = kindName(resource.name)
  const plural = pluralName(kind)
  const spec = section(resource.spec, new SchemaMaker({ model, service, constraints: true }), true)
  const status = section(resource.status, new SchemaMaker({ model, service, constraints: false }), false)
  for (const { at, path } of resource.config.guards) {
    const [part = '', ...names] = path.split('.')
    const root = part.toLowerCase() === 'spec' ? spec : part.toLowerCase() === 'status' ? status : undefined
    if (root === undefined || !hasField(root, names))
      throw new GeneratorError('InvalidConfig', `generator.yaml: ${at}: ${resource.name} has no field at ${path}`)
  }
  const configured = [...resource.config.fields].flatMap(([path, field]) =>
    field.references === undefined ? [] : [[path, field.references] as const],
  )
  for (const [path, field] of resource.config.fields) {
    applyFieldConfig(spec, path, field)
    applyFieldConfig(status, path, { description: field.description })
  }
  const { rows, rules } = addReferences(spec, configured, { kind: resource.name, service, version, naming, bothSet })
  const crd = definition({ kind, plural, service, version, spec, status, resource, rows })
  const lateInitialized = [...resource.config.fields]
    .filter(([path, field]) => field.lateInitialized && hasField(spec, path.split('.')))
    .map(([path]) => path.split('.').map(fieldName).join('.'))
    .toSorted()
  const renamed = rules.map(({ at, fields }) => ({ at: `${kind}${at.slice(resource.name.length)}`, fields }))
  return { kind, plural, crd, references: rows, rules: renamed, lateInitialized }
}

/** Reports whether a path of API names leads to a property, through lists. */
function hasField(root: Schema, names: readonly string[]): boolean {
  let at: Schema | undefined = root
  for (const name of names.map(fieldName)) {
    while (at?.['type'] === 'array') at = at['items'] as Schema
    at = ((at?.['properties'] ?? {}) as Schema)[name] as Schema | undefined
  }
  return at !== undefined && names.length > 0
}

function section(fields: readonly ResourceField[], maker: SchemaMaker, constrained: boolean): Schema {
  const properties: Schema = {}
  for (const { name, origin, field, config } of fields)
    properties[fieldName(name)] = config?.secret === true ? secretReference : maker.ofField(name, field, origin)
  const required = fields
    .filter(({ field, config }) => config?.required ?? field.required)
    .map(({ name }) => fieldName(name))
    .toSorted()
  return { type: 'object', properties, ...(constrained && required.length > 0 ? { required } : {}) }
}

const secretReference: JsonObject = {
  type: 'object',
  description: 'Refers to the key of a Secret that holds the value.',
  required: ['key', 'name'],
  properties: {
    key: { type: 'string', description: 'Key in the data of the Secret.' },
    name: { type: 'string', description: 'Name of the Secret.' },
    namespace: { type: 'string', description: 'Namespace of the Secret; that of this object when left out.' },
  },
}

/** Keys of a field's configuration that change its schema. */
type ConfiguredSchema = { readonly [Key in 'immutable' | 'required' | 'description']?: FieldConfig[Key] | undefined }

/** Applies what a configuration says of one field, also of a nested one. */
function applyFieldConfig(spec: Schema, path: string, { immutable, required, description }: ConfiguredSchema): void {
  let holder: Schema | undefined = spec
  const segments = path.split('.').map(fieldName)
  for (const segment of segments.slice(0, -1)) {
    const next: Schema | undefined = ((holder?.['properties'] ?? {}) as Schema)[segment] as Schema | undefined
    holder = next?.['type'] === 'array' ? (next['items'] as Schema) : next
  }
  const name = segments.at(-1) as string
  const properties = (holder?.['properties'] ?? {}) as Schema
  if (holder === undefined || properties[name] === undefined) return
  if (description !== undefined) properties[name] = { ...(properties[name] as Schema), description }
  if (immutable) makeImmutable(properties[name])
  if (required === undefined || segments.length === 1) return
  const before = ((holder['required'] ?? []) as readonly string[]).filter((one) => one !== name)
  const after = required ? [...before, name].toSorted() : before
  if (after.length === 0) delete holder['required']
  else holder['required'] = after
}

const metadataSchema: JsonObject = {
  type: 'object',
  description: 'The ARN of the resource and the account that owns it.',
  required: ['ownerAccountID', 'region'],
  properties: {
    arn: { type: 'string', description: 'ARN, once the resource exists.' },
    ownerAccountID: { type: 'string', description: 'Account that owns the resource.' },
    partition: { type: 'string', description: 'AWS partition of the resource.' },
    region: { type: 'string', description: 'AWS region of the resource.' },
  },
}

const conditionsSchema: JsonObject = {
  type: 'array',
  description: 'Conditions of the object and of its AWS resource.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['status', 'type'],
    properties: {
      type: { type: 'string', description: 'Type of the condition.' },
      status: { type: 'string', description: 'True, False or Unknown.' },
      observedGeneration: {
        type: 'integer',
        format: 'int64',
        description: 'Generation that the condition belongs to.',
      },
      lastTransitionTime: { type: 'string', format: 'date-time', description: 'Time of the last change of status.' },
      reason: { type: 'string', description: 'Reason in one word.' },
      message: { type: 'string', description: 'Reason in a sentence.' },
    },
  },
}

const resolvedSchema: JsonObject = {
  type: 'array',
  description: 'Each reference with its value or its state.',
  items: {
    type: 'object',
    required: ['path', 'state'],
    properties: {
      path: { type: 'string', description: 'Path of the field below the spec.' },
      value: { description: 'The last value.', 'x-kubernetes-preserve-unknown-fields': true },
      referent: {
        type: 'object',
        description: 'The object that the value comes from.',
        properties: {
          group: { type: 'string', description: 'API group of the object.' },
          kind: { type: 'string', description: 'Kind of the object.' },
          namespace: { type: 'string', description: 'Namespace of the object.' },
          name: { type: 'string', description: 'Name of the object.' },
        },
      },
      uid: { type: 'string', description: 'Its UID.' },
      generation: { type: 'integer', format: 'int64', description: 'Its generation.' },
      state: { type: 'string', description: 'Resolved, or why it is not.' },
    },
  },
}

interface Definition {
  readonly kind: string
  readonly plural: string
  readonly service: string
  readonly version: string
  readonly spec: Schema
  readonly status: Schema
  readonly resource: Resource
  readonly rows: readonly GeneratedReference[]
}

function definition({ kind, plural, service, version, spec, status, resource, rows }: Definition): KubeObject {
  const hasReferences = rows.length > 0
  const group = groupOf(service)
  const { shortNames } = resource.config
  const statusProperties = {
    ackResourceMetadata: metadataSchema,
    conditions: conditionsSchema,
    observedGeneration: { type: 'integer', format: 'int64', description: 'Generation that the status belongs to.' },
    ...(hasReferences ? { resolvedReferences: resolvedSchema } : {}),
    ...(status['properties'] as JsonObject),
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames.length > 0 ? { shortNames } : {}),
      },
      scope: 'Namespaced',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns(resource, spec, { ...status, properties: statusProperties }, hasReferences),
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: `${kind} manages one ${resource.name} of the AWS service ${service}.`,
              properties: {
                apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
                kind: { type: 'string', description: 'Kind of this object.' },
                metadata: { type: 'object' },
                spec: { description: `The desired ${resource.name}.`, ...spec },
                status: { type: 'object', description: `The observed ${resource.name}.`, properties: statusProperties },
              },
            },
          },
        },
      ],
    },
  }
}

function columns(
  { config, status: ofStatus }: Resource,
  spec: Schema,
  status: Schema,
  hasReferences: boolean,
): JsonObject[] {
  const printed = [...config.fields].flatMap(([path, { print }]) => {
    if (print === undefined) return []
    const inStatus = ofStatus.some(({ name }) => name.toLowerCase() === path.split('.')[0]?.toLowerCase())
    const names = path.split('.').map(fieldName)
    let at: Schema | undefined = inStatus ? status : spec
    for (const name of names) at = ((at?.['properties'] ?? {}) as Schema)[name] as Schema | undefined
    const type = at?.['format'] === 'date-time' ? 'date' : at?.['type']
    return [
      {
        name: print.name,
        type: typeof type === 'string' ? type : 'string',
        jsonPath: `.${inStatus ? 'status' : 'spec'}.${names.join('.')}`,
        ...(print.priority === undefined ? {} : { priority: print.priority }),
      },
    ]
  })
  const condition = (name: string, type: string): JsonObject => ({
    name,
    type: 'string',
    jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
  })
  return [
    ...printed,
    condition('Synced', 'ACK.ResourceSynced'),
    ...(hasReferences ? [condition('REFS', 'ACK.ReferencesResolved')] : []),
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ]
}

function rbacOf(kinds: readonly GeneratedKind[], own: string): readonly PolicyRule[] {
  const groups = new Map<string, Set<string>>()
  for (const { group, kind } of kinds.flatMap(({ references }) => references.flatMap(referentsOf))) {
    if (group === own) continue
    const plural = pluralName(kind)
    const resources = groups.get(group) ?? new Set<string>()
    groups.set(group, resources.add(plural).add(`${plural}/status`))
  }
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, resources]) => ({
      apiGroups: [group],
      resources: [...resources].toSorted(),
      verbs: ['get', 'list', 'watch'],
    }))
}
