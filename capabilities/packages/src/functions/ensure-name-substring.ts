// ensure-name-substring: prefixes or suffixes the names of resources, and what refers to them.
import type { Node, YAMLMap } from 'yaml'
import { isMap, isScalar, isSeq } from 'yaml'
import { scalarText, setScalar, textAt, valueAt } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import type { Resource } from '../engine/render/resource.ts'
import { ConfigError, configData, configType, functionApiVersion, isConfigMap } from './config.ts'
import type { FieldSpec } from './field-spec.ts'
import { fieldSpecsAt, findFields, matchesType } from './field-spec.ts'
import { nameReferences } from './name-references.ts'
import { failed } from './results.ts'

const dependsOn = 'config.kubernetes.io/depends-on'
const namePath = 'metadata/name'

/** Kinds whose names mean something outside the package. */
const skipped: readonly Omit<FieldSpec, 'path'>[] = [
  { kind: 'CustomResourceDefinition' },
  { group: 'apiregistration.k8s.io', kind: 'APIService' },
  { kind: 'Namespace' },
  { group: 'kpt.dev', kind: 'Kptfile' },
]

interface SubstringConfig {
  readonly substring: string
  readonly mode: 'prepend' | 'append'
  readonly fields: readonly FieldSpec[]
}

/** Ensures that names contain a substring; idempotent. */
export function ensureNameSubstring({ items, config }: FunctionInput): FunctionOutcome {
  let options: SubstringConfig
  try {
    options = optionsOf(config)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const message = `failed to load the \`functionConfig\`: ${error.message}`
    return failed(message, message)
  }
  const oldNames = new Map(items.map((item) => [item, item.name]))
  const present = new Set(items.map(({ group, kind, name }) => `${group}/${kind}/${name}`))
  for (const resource of items) {
    if (skipped.some((type) => matchesType(resource, type))) continue
    for (const spec of options.fields)
      for (const { node } of findFields(resource, { ...spec, create: false })) {
        if (!isScalar(node) || scalarText(node).includes(options.substring)) continue
        setScalar(node, edited(scalarText(node), options), { keepStyle: true })
        updateDependsOn(resource, present, options)
      }
  }
  followRenames(items, oldNames)
  return { results: [] }
}

function optionsOf(config: YAMLMap | undefined): SubstringConfig {
  const { apiVersion, kind } = configType(config)
  const name: FieldSpec = { path: namePath }
  if (config !== undefined && isConfigMap(config)) {
    const entries = [...configData(config)]
    const [[mode, substring] = ['', '']] = entries
    if (entries.length !== 1)
      throw new ConfigError(`only 1 entry is allowed in the ConfigMap, but got: ${entries.length}`)
    if (mode !== 'prepend' && mode !== 'append')
      throw new ConfigError(`unknown editMode: ${mode}, only prepend and append are allowed`)
    if (substring === '') throw new ConfigError('substring must not be empty')
    return { substring, mode, fields: [name] }
  }
  if (config === undefined || apiVersion !== functionApiVersion || kind !== 'EnsureNameSubstring')
    throw new ConfigError(
      `function config must be either v1, Kind=ConfigMap or ${functionApiVersion}, Kind=EnsureNameSubstring, but we got: ${apiVersion}, Kind=${kind}`,
    )
  const substring = textAt(config, 'substring') ?? ''
  const mode = textAt(config, 'editMode') ?? 'prepend'
  if (substring === '') throw new ConfigError('substring must not be empty')
  if (mode !== 'prepend' && mode !== 'append')
    throw new ConfigError(`unknown editMode: ${mode}, only prepend and append are allowed`)
  const additional = fieldSpecsAt(config, 'additionalNameFields')
  return {
    substring,
    mode,
    fields: [name, ...(additional.length > 0 ? additional : fieldSpecsAt(config, 'fieldSpecs'))],
  }
}

function edited(name: string, { substring, mode }: SubstringConfig): string {
  return mode === 'prepend' ? substring + name : name + substring
}

/** Renames in `<group>/[namespaces/<namespace>/]<kind>/<name>`, where the resource is one of the package. */
function updateDependsOn(resource: Resource, present: ReadonlySet<string>, options: SubstringConfig): void {
  const reference = resource.annotation(dependsOn)
  if (reference === undefined) return
  const parts = reference.split('/')
  const isNamespaced = parts.length === 5 && parts[1] === 'namespaces'
  if (!isNamespaced && parts.length !== 3) return
  const [group, kind, name] = isNamespaced ? [parts[0], parts[3], parts[4]] : parts
  if (!present.has(`${group}/${kind}/${name}`)) return
  resource.setAnnotation(dependsOn, parts.with(-1, edited(name ?? '', options)).join('/'))
}

/** Updates fields that name a resource by the name which it had. */
function followRenames(items: readonly Resource[], oldNames: ReadonlyMap<Resource, string>): void {
  const renamed = items.filter((item) => oldNames.get(item) !== item.name)
  if (renamed.length === 0) return
  for (const { fields, ...target } of nameReferences) {
    const candidates = renamed.filter((item) => matchesType(item, target))
    if (candidates.length === 0) continue
    for (const referrer of items)
      for (const spec of fields)
        for (const { node } of findFields(referrer, spec)) follow(node, referrer, spec, candidates, oldNames)
  }
}

function follow(
  node: Node,
  referrer: Resource,
  spec: FieldSpec,
  candidates: readonly Resource[],
  oldNames: ReadonlyMap<Resource, string>,
): void {
  if (isSeq(node)) {
    for (const item of node.items as Node[]) follow(item, referrer, spec, candidates, oldNames)
    return
  }
  const name = isMap(node) ? valueAt(node, 'name') : node
  if (!isScalar(name)) return
  const namespace = isMap(node) ? textAt(node, 'namespace') : undefined
  const isRoleReference = spec.path.endsWith('roleRef/name')
  const targets = candidates.filter(
    (item) =>
      oldNames.get(item) === scalarText(name) &&
      (namespace === undefined || namespace === '' || effectiveNamespace(item) === namespace) &&
      (!isRoleReference || textAt(referrer.fields, 'roleRef', 'kind') === item.kind) &&
      isReachable(referrer, item),
  )
  const [target] = targets
  if (target === undefined || targets.some((other) => other.name !== target.name)) return
  setScalar(name, target.name, { keepStyle: true })
}

/** A resource refers to its own namespace, to cluster-scoped resources, and to service accounts anywhere. */
function isReachable(referrer: Resource, target: Resource): boolean {
  return (
    target.kind === 'ServiceAccount' ||
    referrer.namespace === '' ||
    target.namespace === '' ||
    referrer.namespace === target.namespace
  )
}

function effectiveNamespace({ namespace }: Resource): string {
  return namespace === '' ? 'default' : namespace
}
