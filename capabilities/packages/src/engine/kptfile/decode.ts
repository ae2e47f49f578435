// Strict reading of a Kptfile: every field of kpt.dev/v1 with its type, and go-yaml's messages for the rest.
import type { Document, Node, Pair } from 'yaml'
import type { JsonValue, MutableJsonObject } from '@fairlead/kube'
import { isJsonObject, parseApiVersion, setOwn, yamlLibrary } from '@fairlead/kube'
import { PackageError } from '../package-error.ts'
import { jsonOf, keyOf } from '../yaml/json-value.ts'
import type { YamlDocument } from '../yaml/yaml-document.ts'
import type { Kptfile } from './kptfile.ts'

/** The type of a field: Go's name for messages, with the fields of a struct. */
type Shape =
  | { readonly is: 'string' | 'int' | 'any' }
  | { readonly is: 'list'; readonly of: Shape }
  | { readonly is: 'map' }
  | { readonly is: 'struct'; readonly type: string; readonly fields: Readonly<Record<string, Shape>> }

const string: Shape = { is: 'string' }
const int: Shape = { is: 'int' }
const any: Shape = { is: 'any' }
const stringMap: Shape = { is: 'map' }
const listOf = (of: Shape): Shape => ({ is: 'list', of })
const struct = (type: string, fields: Readonly<Record<string, Shape>>): Shape => ({ is: 'struct', type, fields })

const git = { repo: string, directory: string, ref: string }
const labelled = { labels: stringMap, annotations: stringMap }
const selector = struct('v1.Selector', {
  apiVersion: string,
  kind: string,
  name: string,
  namespace: string,
  ...labelled,
})
const kptFunction = struct('v1.Function', {
  image: string,
  exec: string,
  configPath: string,
  configMap: stringMap,
  name: string,
  tag: string,
  selectors: listOf(selector),
  exclude: listOf(selector),
})
const result = struct('v1.ResultItem', {
  message: string,
  severity: string,
  resourceRef: struct('yaml.ResourceIdentifier', { apiVersion: string, kind: string, name: string, namespace: string }),
  field: struct('v1.Field', { path: string, currentValue: any, proposedValue: any }),
  file: struct('v1.File', { path: string, index: int }),
  tags: stringMap,
})
const step = struct('v1.PipelineStepResult', {
  name: string,
  image: string,
  exec: string,
  executionError: string,
  stderr: string,
  exitCode: int,
  results: listOf(result),
  errorResults: listOf(result),
})
const kptfile = struct('v1.KptFile', {
  apiVersion: string,
  kind: string,
  metadata: struct('yaml.ObjectMeta', { name: string, namespace: string, ...labelled }),
  upstream: struct('v1.Upstream', { type: string, git: struct('v1.Git', git), updateStrategy: string }),
  upstreamLock: struct('v1.Locator', {
    type: string,
    git: struct('v1.GitLock', { ...git, commit: string }),
    generic: struct('v1.GenericLock', { storeID: string, resourceID: string, resourceVersion: string }),
  }),
  info: struct('v1.PackageInfo', {
    site: string,
    emails: listOf(string),
    license: string,
    licenseFile: string,
    description: string,
    keywords: listOf(string),
    man: string,
    readinessGates: listOf(struct('v1.ReadinessGate', { conditionType: string })),
  }),
  pipeline: struct('v1.Pipeline', { mutators: listOf(kptFunction), validators: listOf(kptFunction) }),
  inventory: struct('v1.Inventory', { namespace: string, name: string, inventoryID: string, ...labelled }),
  status: struct('v1.Status', {
    conditions: listOf(struct('v1.Condition', { type: string, status: string, reason: string, message: string })),
    renderStatus: struct('v1.RenderStatus', {
      mutationSteps: listOf(step),
      validationSteps: listOf(step),
      errorSummary: string,
    }),
  }),
})

/** Versions before v1, which kpt itself refuses. */
const oldVersions: ReadonlySet<string> = new Set(['v1alpha1', 'v1alpha2'])

/** @throws PackageError `InvalidKptfile` with file and line */
export function decodeKptfile(document: YamlDocument, path: string): Kptfile {
  const value = document.toJson()
  if (!isJsonObject(value)) throw new PackageError('InvalidKptfile', 'the Kptfile is no map', { path })
  checkVersion(String(value['apiVersion'] ?? ''), String(value['kind'] ?? ''), path)
  const decoder = new Decoder(document.nodes, document.source)
  const decoded = decoder.value(document.nodes.contents, kptfile)
  const [first] = decoder.errors
  if (first !== undefined) {
    const lines = decoder.errors.map(({ line, message }) => `\n  line ${line}: ${message}`)
    throw new PackageError('InvalidKptfile', `yaml: unmarshal errors:${lines.join('')}`, { path, line: first.line })
  }
  return decoded as unknown as Kptfile
}

function checkVersion(apiVersion: string, kind: string, path: string): void {
  const { group, version } = parseApiVersion(apiVersion)
  if (group === 'kpt.dev' && version === 'v1' && kind === 'Kptfile') return
  const message =
    group === 'kpt.dev' && kind === 'Kptfile' && oldVersions.has(version)
      ? `old resource version "${version}" found in Kptfile`
      : `unknown resource type "${group}/${version}, Kind=${kind}" found in Kptfile`
  throw new PackageError('InvalidKptfile', message, { path })
}

class Decoder {
  readonly errors: { readonly line: number; readonly message: string }[] = []
  readonly #yaml = yamlLibrary()
  readonly #document: Document
  readonly #source: string

  constructor(document: Document, source: string) {
    this.#document = document
    this.#source = source
  }

  /** Returns the value of a node; undefined for null, and where `errors` got an entry. */
  value(node: unknown, shape: Shape): JsonValue | undefined {
    const { isAlias, isMap, isScalar, isSeq } = this.#yaml
    if (isAlias(node)) return this.value(node.resolve(this.#document), shape)
    if (node === null || (isScalar(node) && node.value === null)) return undefined
    if (shape.is === 'any') return jsonOf(node, this.#document)
    if (shape.is === 'string' && isScalar(node)) return node.source ?? String(node.value)
    if (shape.is === 'int' && isScalar(node) && typeof node.value === 'bigint') return Number(node.value)
    if (shape.is === 'list' && isSeq(node)) return node.items.map((item) => this.value(item, shape.of) ?? null)
    if ((shape.is === 'struct' || shape.is === 'map') && isMap(node)) {
      const out: MutableJsonObject = {}
      const known = new Set<string>()
      for (const { key, value } of node.items as Pair<Node, Node | null>[]) {
        const name = keyOf(key)
        if (known.has(name)) this.#error(key, `mapping key "${name}" already defined`)
        known.add(name)
        const of = shape.is === 'map' ? string : Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined
        if (of === undefined) this.#error(key, `field ${name} not found in type ${goName(shape)}`)
        else setOwn(out, name, this.value(value, of) ?? (shape.is === 'map' ? '' : null))
      }
      return shape.is === 'struct' ? withoutNull(out) : out
    }
    this.#error(node as Node, `cannot unmarshal ${this.#tag(node)} into ${goName(shape)}`)
    return undefined
  }

  #tag(node: unknown): string {
    const { isMap, isScalar, isSeq } = this.#yaml
    if (isMap(node)) return '!!map'
    if (isSeq(node)) return '!!seq'
    const value: unknown = isScalar(node) ? node.value : undefined
    const source = isScalar(node) ? `\`${(node.source ?? String(value)).slice(0, 10)}\`` : ''
    const types: Readonly<Record<string, string>> = { bigint: 'int', number: 'float', boolean: 'bool' }
    return `!!${types[typeof value] ?? 'str'} ${source}`
  }

  #error(node: Node, message: string): void {
    const start = node.range?.[0] ?? 0
    this.errors.push({ line: this.#source.slice(0, start).split('\n').length, message })
  }
}

function withoutNull(object: MutableJsonObject): MutableJsonObject {
  for (const key of Object.keys(object)) if (object[key] === null) delete object[key]
  return object
}

function goName(shape: Shape): string {
  switch (shape.is) {
    case 'list':
      return `[]${goName(shape.of)}`
    case 'map':
      return 'map[string]string'
    case 'struct':
      return shape.type
    default:
      return shape.is === 'any' ? 'interface {}' : shape.is
  }
}
