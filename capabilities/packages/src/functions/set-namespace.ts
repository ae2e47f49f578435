// set-namespace: puts resources into a namespace, and updates what names the namespace.
import { Document } from 'yaml'
import type { YAMLMap } from 'yaml'
import type { FunctionResult } from '../engine/function-runner.ts'
import { mapsAt, setText, textAt } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import { Resource, isLocalConfig } from '../engine/render/resource.ts'
import { ConfigError, configData, configType, functionApiVersion, isConfigMap } from './config.ts'
import { goList } from './go-format.ts'
import { isNamespacedKind } from './namespaced-kinds.ts'
import { functionFailure } from './sdk-failure.ts'

const upstreamIdentifier = 'internal.kpt.dev/upstream-identifier'
const dependsOn = 'config.kubernetes.io/depends-on'
const packageContext = 'kptfile.kpt.dev'
/** `<group>/namespaces/<namespace>/<kind>/<name>` */
const namespacedReference = /^[-.\w]*\/namespaces\/[-.\w]*\/[-.\w]*\/[-.\w]*$/

interface NamespaceConfig {
  readonly namespace: string
  /** Only this namespace is replaced; every one when it is undefined. */
  readonly matcher: string | undefined
  /** Adds the Namespace where the package has none of that name; Fairlead's own. */
  readonly create: boolean
}

/** A field that holds a namespace. */
interface NamespaceField {
  /** The namespace in the upstream package; undefined where the field is not checked against it. */
  readonly origin: string | undefined
  /** The resource, in messages. */
  readonly resource: string
  read(): string
  write(namespace: string): void
}

/** Sets the namespace. */
export function setNamespace({ items, config }: FunctionInput): FunctionOutcome {
  let options: NamespaceConfig
  try {
    options = configOf(config)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    // The catalog's function reports its config and passes.
    return { results: [configResult(error.message, config)] }
  }
  const resources = items.filter((item) => !isLocalConfig(item))
  // References are updated when the resource that they name moves, so the places before count.
  const places = new Set(resources.map((resource) => referenceTo(resource)))
  const results: FunctionResult[] = []
  const origins = new Set(resources.flatMap((resource) => upstreamNamespace(resource) ?? []))
  if (options.matcher === undefined && origins.size > 1) {
    const message = `unable to use origin \`namespace\` to match. expect a single upstream namespace, found ${goList([...origins].toSorted())}. please switch to use \`namespaceMatcher\` to specify the namespace value you want to change`
    return { results: [{ message, severity: 'error' }], failure: functionFailure }
  }
  const changed = replaceNamespaces(resources, options, results)
  results.push(
    info(
      changed.count === 0
        ? `all matching namespaces are already ${JSON.stringify(options.namespace)}. no value changed`
        : `namespace ${goList(changed.before)} updated to ${JSON.stringify(options.namespace)}, ${changed.count} value(s) changed`,
    ),
  )
  const references = replaceReferences(resources, places, options)
  results.push(
    info(
      references.count === 0
        ? 'all `depends-on` annotations are up-to-date. no `namespace` changed'
        : `\`depends-on\` annotation namespace ${goList(references.before)} updated to ${JSON.stringify(options.namespace)}, ${references.count} value(s) changed`,
    ),
  )
  if (!options.create || resources.some((item) => isNamespace(item, options.namespace))) return { results }
  results.push(info(`namespace ${JSON.stringify(options.namespace)} created`))
  return { items: [...items, namespaceNamed(options.namespace)], results }
}

function isNamespace({ group, kind, name }: Resource, wanted: string): boolean {
  return group === '' && kind === 'Namespace' && name === wanted
}

function namespaceNamed(name: string): Resource {
  const document = new Document()
  document.contents = document.createNode({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  return new Resource(document, { packagePath: undefined, path: 'namespace.yaml', index: undefined })
}

function configOf(config: YAMLMap | undefined): NamespaceConfig {
  const { apiVersion, kind } = configType(config)
  const expected = '`ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`'
  if (config === undefined || config.items.length === 0)
    throw new ConfigError(`FunctionConfig is missing. Expect ${expected}`)
  if (isConfigMap(config)) {
    const data = configData(config)
    const isContext = textAt(config, 'metadata', 'name') === packageContext
    const namespace = nonEmpty(data.get('namespace')) ?? (isContext ? nonEmpty(data.get('name')) : undefined)
    if (namespace === undefined) throw new ConfigError('`data.namespace` should not be empty')
    return { namespace, matcher: nonEmpty(data.get('namespaceMatcher')), create: data.get('create') === 'true' }
  }
  if (apiVersion !== functionApiVersion || kind !== 'SetNamespace')
    throw new ConfigError(`unknown functionConfig Kind=${kind} ApiVersion=${apiVersion}, expect ${expected}`)
  const namespace = nonEmpty(textAt(config, 'namespace'))
  if (namespace === undefined) throw new ConfigError('`namespace` should not be empty')
  const create = textAt(config, 'create') === 'true'
  return { namespace, matcher: nonEmpty(textAt(config, 'namespaceMatcher')), create }
}

interface Replaced {
  readonly count: number
  readonly before: readonly string[]
}

function replaceNamespaces(
  resources: readonly Resource[],
  { namespace, matcher }: NamespaceConfig,
  results: FunctionResult[],
): Replaced {
  const before = new Set<string>()
  let count = 0
  for (const field of namespaceFields(resources)) {
    const current = field.read() || 'default'
    if (current === namespace) {
      if (field.read() === '') field.write(current)
      continue
    }
    if (matcher !== undefined && matcher === field.origin)
      results.push(info(`[${field.resource}] has matching origin ${field.origin}`))
    if (matcher !== undefined && matcher !== current && matcher !== field.origin) continue
    before.add(current)
    count += 1
    field.write(namespace)
  }
  return { count, before: [...before].toSorted() }
}

function* namespaceFields(resources: readonly Resource[]): Generator<NamespaceField> {
  for (const resource of resources) if (!isNamespaced(resource)) yield* clusterScopedFields(resource)
  for (const resource of resources) {
    if (!isNamespaced(resource)) continue
    const origin = upstreamNamespace(resource) ?? (resource.namespace || 'default')
    yield namespaceField(resource.fields, ['metadata', 'namespace'], origin, describe(resource))
  }
}

/** Returns the fields of cluster-scoped resources that name a namespace. */
function* clusterScopedFields(resource: Resource): Generator<NamespaceField> {
  const { fields, group, version, kind } = resource
  const type = `${group}/${version}/${kind}`
  if (type === '/v1/Namespace') {
    const origin = upstreamIdentity(resource)?.name ?? resource.name
    yield namespaceField(fields, ['metadata', 'name'], origin, describe(resource))
  }
  // Only where the service names a namespace: kpt adds a service to definitions without one, which is then refused.
  const path = servicePaths.get(type)
  if (path !== undefined && textAt(fields, ...path) !== undefined) yield namespaceField(fields, path)
  if (kind !== 'ClusterRoleBinding') return
  for (const subject of mapsAt(fields, 'subjects'))
    if (textAt(subject, 'namespace') !== undefined) yield namespaceField(subject, ['namespace'])
}

const servicePaths: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'apiextensions.k8s.io/v1/CustomResourceDefinition',
    ['spec', 'conversion', 'webhook', 'clientConfig', 'service', 'namespace'],
  ],
  ['apiregistration.k8s.io/v1/APIService', ['spec', 'service', 'namespace']],
])

function namespaceField(fields: YAMLMap, path: readonly string[], origin?: string, resource = ''): NamespaceField {
  return {
    origin,
    resource,
    read: () => textAt(fields, ...path) ?? '',
    write: (namespace) => setText(fields, path, namespace),
  }
}

function describe({ apiVersion, kind, namespace, name }: Resource): string {
  return `Resource(apiVersion=${apiVersion}, kind=${kind}, namespace=${namespace}, name=${name})`
}

/** Returns namespace and name of the resource in the upstream package, as kpt wrote them on fetching it. */
function upstreamIdentity(resource: Resource): { readonly namespace: string; readonly name: string } | undefined {
  const parts = resource.annotation(upstreamIdentifier)?.trim().split('|')
  return parts?.length === 4 ? { namespace: parts[2]!, name: parts[3]! } : undefined
}

function upstreamNamespace(resource: Resource): string | undefined {
  const namespace = isNamespaced(resource) ? upstreamIdentity(resource)?.namespace : undefined
  return namespace === '~C' ? undefined : namespace
}

function replaceReferences(
  resources: readonly Resource[],
  places: ReadonlySet<string>,
  { namespace, matcher }: NamespaceConfig,
): Replaced {
  const before = new Set<string>()
  let count = 0
  for (const resource of resources) {
    const reference = resource.annotation(dependsOn)
    if (reference === undefined || !namespacedReference.test(reference) || !places.has(reference)) continue
    const parts = reference.split('/')
    const current = parts[2] ?? ''
    if (current === namespace || (matcher !== undefined && matcher !== current)) continue
    before.add(current)
    count += 1
    resource.setAnnotation(dependsOn, parts.with(2, namespace).join('/'))
  }
  return { count, before: [...before].toSorted() }
}

function referenceTo(resource: Resource): string {
  const namespace = resource.namespace === '' ? 'default' : resource.namespace
  return `${resource.group}/namespaces/${namespace}/${resource.kind}/${resource.name}`
}

/** Unknown kinds count as namespaced when they name a namespace. */
function isNamespaced(resource: Resource): boolean {
  return isNamespacedKind(resource.apiVersion, resource.kind) ?? resource.namespace !== ''
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

function info(message: string): FunctionResult {
  return { message, severity: 'info' }
}

function configResult(message: string, config: YAMLMap | undefined): FunctionResult {
  const { apiVersion, kind } = configType(config)
  return {
    message,
    severity: 'error',
    resourceRef: config === undefined ? {} : { apiVersion, kind, name: textAt(config, 'metadata', 'name') ?? '' },
    file: { path: '', index: -1 },
  }
}
