// The OpenAPI operations of one resource: its paths, and for each method the id, tag, parameters, request bodies and
// responses.
import type { JsonObject } from '@fairlead/kube'
import { formatApiVersion, parseApiVersion } from '@fairlead/kube'
import type { SubresourceDefinition } from '@fairlead/builtin-kinds'
import type { VersionedResource } from '../api-groups.ts'
import { operationName } from './operation-id.ts'
import { optionNames, queryParameter, sharedParameters } from './parameters.ts'
import { schemaReference } from './schemas.ts'
import { originRules } from '../../objects/origin-rules.ts'
import type { OriginRules } from '../../objects/origin-rules.ts'

/** Names of the schemas in a resource's operations. */
export interface ResourceSchemas {
  readonly object: string
  readonly list: string
  /** The kind of a subresource, when it is not the resource's own. */
  subresource(subresource: SubresourceDefinition): string
}

type Verb = keyof typeof optionNames

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const builtinTypes = ['application/json', 'application/vnd.kubernetes.protobuf', 'application/yaml']
const customTypes = ['application/json', 'application/yaml']
const streamTypes = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch']

/** The object of a path's operations. */
interface Subject {
  /** The part of the operation ids. */
  readonly id: string
  readonly schema: string
  readonly subresource?: SubresourceDefinition
}

interface Shape {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly action: string
  /** The verb of the operation id and of the description. */
  readonly verb: string
  readonly prefix: string
  readonly answers: readonly number[]
  readonly hasBody: boolean
}

const shapes: Readonly<Record<Verb, Shape>> = {
  list: { method: 'get', action: 'list', verb: 'list', prefix: '', answers: [200], hasBody: false },
  create: { method: 'post', action: 'post', verb: 'create', prefix: '', answers: [200, 201, 202], hasBody: true },
  deletecollection: {
    method: 'delete',
    action: 'deletecollection',
    verb: 'delete',
    prefix: 'Collection',
    answers: [200],
    hasBody: false,
  },
  get: { method: 'get', action: 'get', verb: 'read', prefix: '', answers: [200], hasBody: false },
  update: { method: 'put', action: 'put', verb: 'replace', prefix: '', answers: [200, 201], hasBody: true },
  patch: { method: 'patch', action: 'patch', verb: 'patch', prefix: '', answers: [200], hasBody: true },
  delete: { method: 'delete', action: 'delete', verb: 'delete', prefix: '', answers: [200, 202], hasBody: true },
}

/** The operation of each verb in `noDryRun` of a resource definition. */
const operations: Readonly<Partial<Record<Verb, string>>> = {
  create: 'create',
  update: 'update',
  patch: 'update',
  delete: 'delete',
  deletecollection: 'delete',
}

/** Resources whose delete is described with the deleted object in the response. */
const returnsDeleted: ReadonlySet<string> = new Set([
  'persistentvolumes',
  'persistentvolumeclaims',
  'pods',
  'podtemplates',
  'resourcequotas',
  'services',
  'serviceaccounts',
  'csidrivers.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'storageclasses.storage.k8s.io',
  'volumeattachments.storage.k8s.io',
  'volumeattributesclasses.storage.k8s.io',
])

const descriptions: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' }

/** Returns the path items of a resource in one version, by path. */
export function resourcePaths(resource: VersionedResource, schemas: ResourceSchemas): JsonObject {
  return new PathBuilder(resource, schemas).paths()
}

class PathBuilder {
  readonly #resource: VersionedResource
  readonly #schemas: ResourceSchemas
  readonly #rules: OriginRules

  constructor(resource: VersionedResource, schemas: ResourceSchemas) {
    this.#resource = resource
    this.#schemas = schemas
    this.#rules = originRules(resource.definition)
  }

  paths(): JsonObject {
    const { definition, version } = this.#resource
    const { group, plural, kind, namespaced } = definition
    const root = group === '' ? `/api/${version.name}` : `/apis/${formatApiVersion(group, version.name)}`
    const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`
    const id = (namespaced ? 'Namespaced' : '') + kind
    const { object: schema, list } = this.#schemas
    const paths: Record<string, JsonObject> = {}
    const add = (path: string, verbs: readonly string[], candidates: readonly Verb[], subject: Subject): void => {
      const item = this.#pathItem(
        path,
        candidates.filter((verb) => verbs.includes(verb)),
        subject,
      )
      if (item !== undefined) paths[path] = item
    }
    if (namespaced) add(`${root}/${plural}`, version.verbs, ['list'], { id: `${kind}ForAllNamespaces`, schema: list })
    add(collection, version.verbs, ['list', 'create', 'deletecollection'], { id, schema })
    add(`${collection}/{name}`, version.verbs, ['get', 'update', 'delete', 'patch'], { id, schema })
    for (const subresource of version.subresources) {
      const title = subresource.name.charAt(0).toUpperCase() + subresource.name.slice(1)
      add(`${collection}/{name}/${subresource.name}`, subresource.verbs, ['get', 'update', 'patch', 'create'], {
        id: id + title,
        schema: this.#schemas.subresource(subresource),
        subresource,
      })
    }
    return paths
  }

  #pathItem(path: string, verbs: readonly Verb[], subject: Subject): JsonObject | undefined {
    if (verbs.length === 0) return undefined
    // Parameters of every operation of a path belong to the path; with one operation those are all.
    const own = (verb: Verb): readonly JsonObject[] => this.#options(verb).map(queryParameter)
    const [only] = verbs
    const isSingle = verbs.length === 1 && only !== undefined
    const operations = verbs.map((verb): [string, JsonObject] => [
      shapes[verb].method,
      this.#operation(verb, subject, isSingle ? [] : own(verb)),
    ])
    const parameters = [...(isSingle ? own(only) : []), ...sharedParameters(path)]
    return { ...Object.fromEntries(operations), parameters }
  }

  /** Returns the query parameters of a verb. Custom resources declare list options for deletecollection only. */
  #options(verb: Verb): readonly string[] {
    if (verb === 'get' && this.#rules.isUnstructured) return ['resourceVersion']
    const names = verb === 'deletecollection' && this.#rules.isUnstructured ? optionNames.list : optionNames[verb]
    const { noDryRun = [] } = this.#resource.definition
    return noDryRun.includes(operations[verb] ?? '') ? names.filter((name) => name !== 'dryRun') : names
  }

  #operation(verb: Verb, subject: Subject, parameters: readonly JsonObject[]): JsonObject {
    const { definition, version } = this.#resource
    const shape = shapes[verb]
    const { operationId, tag } = operationName(shape.verb, definition.group, version.name, shape.prefix + subject.id)
    const types = this.#rules.isUnstructured ? customTypes : builtinTypes
    const answer =
      verb === 'list'
        ? this.#schemas.list
        : verb === 'deletecollection' || (verb === 'delete' && !this.#returnsDeleted())
          ? `${meta}.Status`
          : subject.schema
    const answerTypes = verb === 'list' && !this.#rules.isUnstructured ? [...types, ...streamTypes].toSorted() : types
    const content = Object.fromEntries(answerTypes.map((type) => [type, { schema: schemaReference(answer) }]))
    // Custom resources can be created by apply as well, and do not say so.
    const answers = verb === 'patch' && !this.#rules.isUnstructured ? [200, 201] : shape.answers
    const responses = Object.fromEntries(
      answers.map((code) => [String(code), { description: descriptions[code] ?? '', content }]),
    )
    return {
      tags: [tag],
      description: describe(
        verb,
        definition.kind,
        subject.subresource,
        version.verbs.includes('watch') && !this.#rules.isUnstructured,
      ),
      operationId,
      ...(parameters.length > 0 ? { parameters } : {}),
      ...this.#requestBody(verb, subject.schema),
      responses: { ...responses, '401': { description: 'Unauthorized' } },
      'x-kubernetes-action': shape.action,
      'x-kubernetes-group-version-kind': this.#kindOf(subject),
    }
  }

  /** Returns the kind that the bodies have: a subresource may have one of its own. */
  #kindOf({ subresource }: Subject): JsonObject {
    const { definition, version } = this.#resource
    const own = subresource?.groupVersion === undefined ? undefined : parseApiVersion(subresource.groupVersion)
    const { group, version: name } = own ?? { group: definition.group, version: version.name }
    return { group, version: name, kind: subresource?.kind ?? definition.kind }
  }

  #returnsDeleted(): boolean {
    const { group, plural } = this.#resource.definition
    return group === 'resource.k8s.io' || returnsDeleted.has(group === '' ? plural : `${plural}.${group}`)
  }

  #requestBody(verb: Verb, schema: string): JsonObject {
    const deletesMany = verb === 'deletecollection' && !this.#rules.isUnstructured
    if (!shapes[verb].hasBody && !deletesMany) return {}
    if (verb === 'delete' || deletesMany)
      return body(this.#rules.isUnstructured ? customTypes : ['*/*'], `${meta}.DeleteOptions`, false)
    if (verb === 'patch') return body(this.#rules.patchTypes.toSorted(), `${meta}.Patch`, true)
    return body(this.#rules.isUnstructured ? customTypes : ['*/*'], schema, true)
  }
}

function body(types: readonly string[], schema: string, required: boolean): JsonObject {
  const content = Object.fromEntries(types.map((type) => [type, { schema: schemaReference(schema) }]))
  return { requestBody: required ? { content, required } : { content } }
}

function describe(
  verb: Verb,
  kind: string,
  subresource: SubresourceDefinition | undefined,
  isWatched: boolean,
): string {
  const part = subresource === undefined ? '' : `${subresource.name} of `
  switch (verb) {
    case 'list':
      return `list ${isWatched ? 'or watch ' : ''}objects of kind ${kind}`
    case 'deletecollection':
      return `delete collection of ${kind}`
    case 'create':
    case 'delete':
      return `${verb} ${part}${article(kind)}${kind}`
    default:
      return `${verb === 'patch' ? 'partially update' : shapes[verb].verb} ${part}the specified ${kind}`
  }
}

/** Returns the article as the generator of Kubernetes chooses it. */
function article(kind: string): string {
  if (kind === 'Endpoints') return ''
  return /^[AEIOU]/i.test(kind) ? 'an ' : 'a '
}
