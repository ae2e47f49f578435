// The OpenAPI v3 document of one group version: the operations of its resources and the schemas that they refer to.
import type { JsonObject, SchemaNode } from '@fairlead/kube'
import { formatApiVersion, isJsonObject } from '@fairlead/kube'
import { schemaName } from '@fairlead/builtin-kinds'
import type { SubresourceDefinition } from '@fairlead/builtin-kinds'
import type { ApiGroup, ApiGroupVersion, VersionedResource } from '../api-groups.ts'
import type { ResourceSchemas } from './operations.ts'
import { resourcePaths } from './operations.ts'
import { SchemaCollector, schemaReference } from './schemas.ts'
import { originRules } from '../../objects/origin-rules.ts'

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'

/** The version in the documents of built-in groups. */
const kubernetesVersion = 'v1.35.4'

/** Returns the document of a group version. `groups` are all served ones: some kinds are registered in each of them. */
export function openApiDocument(group: string, groupVersion: ApiGroupVersion, groups: readonly ApiGroup[]): JsonObject {
  const collector = new SchemaCollector((kind) => everyGroupVersion(kind, groups))
  const { resources } = groupVersion
  const isUnstructured = resources.every(({ definition }) => originRules(definition).isUnstructured)
  const paths: Record<string, JsonObject> = {}
  for (const resource of resources) Object.assign(paths, resourcePaths(resource, schemasOf(group, resource, collector)))
  return {
    openapi: '3.0.0',
    info: isUnstructured
      ? { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' }
      : { title: 'Kubernetes', version: kubernetesVersion },
    paths,
    components: { schemas: collector.schemas },
  }
}

function everyGroupVersion(kind: string, groups: readonly ApiGroup[]): JsonObject[] {
  return groups.flatMap(({ name, versions }) => versions.map(({ version }) => ({ group: name, kind, version })))
}

/** Adds the schemas of a resource to the document and returns their names. */
function schemasOf(
  group: string,
  { definition, version }: VersionedResource,
  collector: SchemaCollector,
): ResourceSchemas {
  const apiVersion = formatApiVersion(group, version.name)
  const { kind, listKind } = definition
  for (const name of ['Status', 'DeleteOptions', 'Patch']) collector.addBuiltin(`${meta}.${name}`)
  const builtin = schemaName(apiVersion, kind)
  const prefix = `${group.split('.').toReversed().join('.')}.${version.name}`
  const object = builtin ?? `${prefix}.${kind}`
  const list = (builtin === undefined ? undefined : schemaName(apiVersion, listKind)) ?? `${prefix}.${listKind}`
  if (builtin !== undefined) {
    collector.addBuiltin(object)
    collector.addBuiltin(list)
  } else {
    for (const name of ['ObjectMeta', 'ListMeta']) collector.addBuiltin(`${meta}.${name}`)
    collector.add(object, objectSchema(version.schema?.root, { group, version: version.name, kind }))
    if (version.verbs.includes('list'))
      collector.add(list, listSchema(object, { group, version: version.name, kind: listKind }))
  }
  return { object, list, subresource: (subresource) => subresourceSchema(subresource, apiVersion, object, collector) }
}

function subresourceSchema(
  subresource: SubresourceDefinition,
  apiVersion: string,
  object: string,
  collector: SchemaCollector,
): string {
  const name = schemaName(subresource.groupVersion ?? apiVersion, subresource.kind)
  if (name === undefined) return object
  collector.addBuiltin(name)
  return name
}

interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Returns the schema of a custom resource with apiVersion, kind and metadata added. */
function objectSchema(root: SchemaNode | undefined, kind: Kind): JsonObject {
  const own = (root ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }) as unknown as JsonObject
  const properties = isJsonObject(own['properties']) ? own['properties'] : {}
  return {
    ...own,
    type: 'object',
    // A kind without declared fields stays open.
    ...(root?.properties === undefined && root?.['x-kubernetes-preserve-unknown-fields'] === true
      ? {}
      : {
          properties: {
            ...embeddedObjects(properties),
            ...typeMeta,
            metadata: {
              description: `Standard object's metadata. More info: ${conventions}#metadata`,
              allOf: [schemaReference(`${meta}.ObjectMeta`)],
            },
          },
        }),
    'x-kubernetes-group-version-kind': [{ ...kind }],
  }
}

const conventions = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'

const typeMeta: JsonObject = {
  apiVersion: {
    description: `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: ${conventions}#resources`,
    type: 'string',
  },
  kind: {
    description: `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: ${conventions}#types-kinds`,
    type: 'string',
  },
}

/** Adds apiVersion, kind and metadata to embedded resources. */
function embeddedObjects(properties: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, isJsonObject(schema) ? withEmbedded(schema) : schema]),
  )
}

function withEmbedded(schema: JsonObject): JsonObject {
  const out: Record<string, JsonObject[keyof JsonObject]> = { ...schema }
  if (isJsonObject(schema['items'])) out['items'] = withEmbedded(schema['items'])
  if (isJsonObject(schema['additionalProperties']))
    out['additionalProperties'] = withEmbedded(schema['additionalProperties'])
  if (isJsonObject(schema['properties'])) out['properties'] = embeddedObjects(schema['properties'])
  if (schema['x-kubernetes-embedded-resource'] === true) {
    const own = isJsonObject(out['properties']) ? out['properties'] : {}
    out['properties'] = { ...own, ...typeMeta, metadata: { allOf: [schemaReference(`${meta}.ObjectMeta`)] } }
  }
  return out
}

function listSchema(object: string, kind: Kind): JsonObject {
  return {
    description: `${kind.kind} is a list of ${object.slice(object.lastIndexOf('.') + 1)}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...typeMeta,
      items: { description: 'List of objects.', type: 'array', items: schemaReference(object) },
      metadata: { allOf: [schemaReference(`${meta}.ListMeta`)] },
    },
    'x-kubernetes-group-version-kind': [{ ...kind }],
  }
}
