// The changes that call a hook again (Q17), and the digest by which a restarted controller finds changes that it
// missed.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson, jsonEqual } from '@fairlead/kube'
import type { InputResource, MapController } from '../api.ts'
import { digest } from './digest.ts'
import type { IgnoredChanges } from './resource.ts'
import { seenAnnotation, tagOf } from './tag.ts'

/**
 * Returns whether a change of a parent enqueues its groups: generation, labels or annotations differ. A status change
 * does not.
 */
export function parentChangeMatters(old: KubeObject, parent: KubeObject): boolean {
  if (old.metadata.resourceVersion === parent.metadata.resourceVersion) return false
  return !sameContent(old, parent)
}

/** Returns whether a change of an input enqueues its group: not when the input resource ignores such changes. */
export function inputChangeMatters(old: KubeObject, input: KubeObject, resource: InputResource): boolean {
  if (old.metadata.resourceVersion === input.metadata.resourceVersion && old.metadata.uid === input.metadata.uid)
    return false
  if (old.metadata.uid !== input.metadata.uid) return true
  if (resource.fieldPaths !== undefined)
    return resource.fieldPaths.some((path) => !sameValue(fieldOf(old, path), fieldOf(input, path)))
  return resource.ignoreStatusChanges !== true || !sameContent(old, input)
}

/**
 * Returns whether a change of an output enqueues its group. Its owners, its tag and its deletion always count: they
 * decide whether it is an output at all.
 */
export function outputChangeMatters(
  old: KubeObject,
  output: KubeObject,
  { fieldPaths, ignoreStatusChanges }: IgnoredChanges = {},
): boolean {
  if (fieldPaths === undefined && ignoreStatusChanges !== true) return true
  const [before, after] = [old.metadata, output.metadata]
  if (
    before.uid !== after.uid ||
    before.deletionTimestamp !== after.deletionTimestamp ||
    !sameValue(before.ownerReferences ?? [], after.ownerReferences ?? []) ||
    !sameValue(tagOf(old), tagOf(output))
  )
    return true
  if (fieldPaths !== undefined) return fieldPaths.some((path) => !sameValue(fieldOf(old, path), fieldOf(output, path)))
  return !sameContent(old, output)
}

/** Returns whether a change of a child syncs its parent. Labels and annotations always count: they name its parent. */
export function childChangeMatters(old: KubeObject, child: KubeObject, ignored: IgnoredChanges = {}): boolean {
  const [before, after] = [old.metadata, child.metadata]
  return (
    !sameValue(before.labels ?? {}, after.labels ?? {}) ||
    !sameValue(before.annotations ?? {}, after.annotations ?? {}) ||
    outputChangeMatters(old, child, ignored)
  )
}

/**
 * Returns whether generation, labels, annotations and deletion are the same; for kinds without a generation all but the
 * status.
 */
function sameContent(old: KubeObject, object: KubeObject): boolean {
  const before = old.metadata
  const after = object.metadata
  if (before.uid !== after.uid || before.deletionTimestamp !== after.deletionTimestamp) return false
  if (
    !sameValue(before.labels ?? {}, after.labels ?? {}) ||
    !sameValue(before.annotations ?? {}, after.annotations ?? {})
  )
    return false
  if (before.generation !== undefined && after.generation !== undefined) return before.generation === after.generation
  return sameValue(contentOf(old), contentOf(object))
}

/**
 * Returns a digest of the objects that a map hook is sent: the part of the input whose change matters, the parent
 * without its status, and the controller's spec. Outputs carry the digest of their last write, so that a restart finds
 * the groups that changed meanwhile.
 */
export function seenDigest(
  controller: MapController,
  parent: KubeObject,
  input: KubeObject,
  resource: InputResource,
): string {
  return digest({
    controller: controllerDigest(controller),
    parent: parentDigest(parent),
    input: relevantInput(input, resource),
  })
}

/** Returns whether some output of a group was written when the hook was sent objects of this digest. */
export function wasSeen(outputs: readonly KubeObject[], seen: string): boolean {
  return outputs.some((output) => output.metadata.annotations?.[seenAnnotation] === seen)
}

function relevantInput(input: KubeObject, resource: InputResource): unknown {
  const { uid, deletionTimestamp } = input.metadata
  if (resource.fieldPaths !== undefined)
    return [uid, ...resource.fieldPaths.map((path) => fieldOf(input, path) ?? null)]
  const { labels, annotations } = input.metadata
  const status = resource.ignoreStatusChanges === true ? undefined : input.status
  return { uid, deletionTimestamp, labels, annotations, status, content: contentOf(input) }
}

const digests = new WeakMap<object, string>()

function controllerDigest(controller: MapController): string {
  return cachedDigest(controller, () => digest({ uid: controller.metadata.uid, spec: controller.spec }))
}

function parentDigest(parent: KubeObject): string {
  return cachedDigest(parent, () =>
    digest({
      uid: parent.metadata.uid,
      labels: parent.metadata.labels,
      annotations: parent.metadata.annotations,
      content: contentOf(parent),
    }),
  )
}

function cachedDigest(object: object, compute: () => string): string {
  const known = digests.get(object) ?? compute()
  digests.set(object, known)
  return known
}

/** Returns all fields but metadata and status. */
function contentOf(object: KubeObject): JsonObject {
  const { metadata: _metadata, status: _status, ...content } = asJson(object)
  return content
}

function fieldOf(object: KubeObject, path: string): unknown {
  let value: unknown = object
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true
  return (
    typeof a === 'object' &&
    typeof b === 'object' &&
    a !== null &&
    b !== null &&
    jsonEqual(a as JsonObject, b as JsonObject)
  )
}
