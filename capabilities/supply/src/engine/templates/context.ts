// The variables of templates (originals/cartographer.md §2.2): the owner, its parameters, the inputs, and the labels of
// the stamped object.
import { asJson, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import type { Input } from '../blueprints/graph.ts'
import type { Outputs } from '../values/output.ts'

/** An input with the outputs of the resource that provides it. */
export interface ResolvedInput extends Input {
  readonly outputs: Outputs
}

/** Names of all variables. */
export const contextNames = [
  'workload',
  'deliverable',
  'params',
  'sources',
  'images',
  'configs',
  'deployment',
  'source',
  'image',
  'config',
  'labels',
] as const

/** Returns the variables for one stamped object. */
export function stampContext(given: {
  readonly owner: KubeObject
  readonly params: JsonObject
  readonly inputs: readonly ResolvedInput[]
  readonly labels: Readonly<Record<string, string>>
}): JsonObject {
  const { owner, params, inputs, labels } = given
  const own = ownerContext(owner)
  const of = (kind: Input['kind']): readonly ResolvedInput[] => inputs.filter((input) => input.kind === kind)
  const sources = of('source').map((input) => sourceContext(input.name, input.outputs))
  const images = of('image').map(({ name, outputs }) => ({ name, image: outputs['image'] ?? null }))
  const configs = of('config').map(({ name, outputs }) => ({ name, config: outputs['config'] ?? null }))
  const [deployment] = of('deployment')
  const context: MutableJsonObject = {
    workload: own,
    deliverable: own,
    params,
    sources: byName(sources),
    images: byName(images),
    configs: byName(configs),
    deployment: deployment === undefined ? null : sourceContext('', deployment.outputs),
    labels,
  }
  if (sources.length === 1) context['source'] = sources[0]!
  if (images.length === 1) context['image'] = images[0]!.image
  if (configs.length === 1) context['config'] = configs[0]!.config
  return context
}

/**
 * Returns an owner without status, managedFields and resourceVersion: with them every status write would change the
 * stamped object.
 */
export function ownerContext(owner: KubeObject): JsonObject {
  const { status: _status, metadata, ...rest } = asJson(owner)
  const { managedFields: _fields, resourceVersion: _version, ...own } = metadata as JsonObject
  return { ...rest, metadata: own }
}

/** Fields with the value that they have when unset; `within` are the fields of one that is set. */
interface ZeroFields {
  readonly [field: string]: null | '' | { readonly within: ZeroFields; readonly unset?: JsonObject }
}

const zeroMetadata: ZeroFields[string] = { within: { labels: null, annotations: null, generateName: '' } }

const zeroRunnable: ZeroFields = {
  metadata: zeroMetadata,
  spec: { within: { inputs: null, selector: null, serviceAccountName: '' } },
}

const zeroFields: ZeroFields = {
  metadata: zeroMetadata,
  spec: {
    within: {
      params: null,
      source: {
        within: {
          git: { within: { url: null, ref: { within: { branch: null, tag: null, commit: null } } } },
          image: null,
          subPath: null,
        },
      },
      build: { within: { env: null }, unset: { env: null } },
      env: null,
      image: null,
      resources: null,
      serviceClaims: null,
      serviceAccountName: '',
    },
  },
}

/**
 * Returns the variables of owners with the values that fields have which are not set: in Cartographer an owner is a Go
 * struct, so its templates may refer to them (originals/cartographer.md §2.2).
 */
export function unsetVariables({ workload, runnable }: JsonObject): JsonObject {
  if (isJsonObject(runnable)) return { runnable: completed(runnable, zeroRunnable) }
  if (!isJsonObject(workload)) return {}
  const owner = completed(workload, zeroFields)
  return { workload: owner, deliverable: owner }
}

function completed(value: JsonObject, zero: ZeroFields): JsonObject {
  const all: MutableJsonObject = { ...value }
  for (const [field, whenUnset] of Object.entries(zero)) {
    const present = value[field]
    if (present === undefined)
      all[field] = whenUnset === null || whenUnset === '' ? whenUnset : (whenUnset.unset ?? null)
    else if (whenUnset && isJsonObject(present)) all[field] = completed(present, whenUnset.within)
  }
  return all
}

function sourceContext(name: string, outputs: Outputs): NamedInput {
  return { name, url: outputs['url'] ?? null, revision: outputs['revision'] ?? null }
}

type NamedInput = { readonly name: string; readonly [field: string]: JsonValue }

function byName(inputs: readonly NamedInput[]): JsonObject {
  return Object.fromEntries(inputs.map((input): [string, JsonValue] => [input.name, input]))
}
