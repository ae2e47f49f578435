// Outputs of resources: the values that other resources read, and their summary in status.
import { createHash } from 'node:crypto'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { asJson } from '@fairlead/kube'
import type { OutputStatus, Template } from '../../api.ts'
import { goYaml } from './go-yaml.ts'
import { lookup } from './path.ts'

/** Values by name: `url` and `revision`, `image`, or `config`. */
export type Outputs = JsonObject

/** An output that cannot be read yet. */
export interface MissingOutput {
  readonly path: string
  readonly message: string
}

/** Bytes of the preview in status. */
const previewBytes = 1024

/** Preview and digest of a value. */
interface Summary {
  readonly preview: string
  readonly digest: string
}

/** The outputs that were read from an object, by their paths. Objects of caches do not change. */
const readBefore = new WeakMap<KubeObject, Map<string, ReturnType<typeof readOutputs>>>()
const summaries = new WeakMap<Outputs, readonly (Summary & { readonly name: string })[]>()

/** Returns preview and digest of a value. */
export function summarize(value: JsonValue): Summary {
  const yaml = goYaml(value)
  const digest = `sha256:${createHash('sha256').update(yaml).digest('hex')}`
  return { preview: firstBytes(yaml, previewBytes), digest }
}

/** Returns the outputs for status; the transition time changes when the digest does. `now` is an RFC 3339 time. */
export function outputStatus(
  outputs: Outputs,
  before: readonly OutputStatus[] | undefined,
  now: string,
): OutputStatus[] {
  let all = summaries.get(outputs)
  all ??= Object.entries(outputs).map(([name, value]) => ({ name, ...summarize(value) }))
  summaries.set(outputs, all)
  return all.map(({ name, preview, digest }) => {
    const previous = before?.find((one) => one.name === name)
    return {
      name,
      preview,
      digest,
      lastTransitionTime: previous?.digest === digest ? previous.lastTransitionTime : now,
    }
  })
}

/** Returns names and paths of the outputs of a template, in the order in which they are read. */
export function outputPaths({ kind, spec }: Template): readonly (readonly [name: string, path: string])[] {
  switch (kind) {
    case 'ClusterSourceTemplate':
      return [
        ['url', spec.urlPath ?? ''],
        ['revision', spec.revisionPath ?? ''],
      ]
    case 'ClusterImageTemplate':
      return [['image', spec.imagePath ?? '']]
    case 'ClusterConfigTemplate':
      return [['config', spec.configPath ?? '']]
    case 'ClusterDeploymentTemplate':
    case 'ClusterTemplate':
      return []
  }
}

/** Reads every path from an object, or returns the first one that is missing. */
export function readOutputs(
  object: KubeObject,
  paths: readonly (readonly [name: string, path: string])[],
): { readonly outputs: Outputs } | { readonly missing: MissingOutput } {
  let known = readBefore.get(object)
  if (known === undefined) readBefore.set(object, (known = new Map()))
  const key = JSON.stringify(paths)
  let read = known.get(key)
  if (read === undefined) known.set(key, (read = freshOutputs(object, paths)))
  return read
}

function freshOutputs(
  object: KubeObject,
  paths: readonly (readonly [name: string, path: string])[],
): ReturnType<typeof readOutputs> {
  const outputs: Record<string, JsonValue> = {}
  for (const [name, path] of paths) {
    const found = lookup(path, asJson(object))
    if (found.kind !== 'value') {
      const message = found.kind === 'absent' ? `jsonpath returned empty list: ${path}` : found.message
      return { missing: { path, message } }
    }
    outputs[name] = found.value
  }
  return { outputs }
}

function firstBytes(text: string, count: number): string {
  const bytes = Buffer.from(text)
  return bytes.length <= count ? text : new TextDecoder().decode(bytes.subarray(0, count)).replace(/\uFFFD$/, '')
}
