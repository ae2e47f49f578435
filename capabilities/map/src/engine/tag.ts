// What marks an object as the output of a group: a label with the map key, annotations with the controller, the parent and the input (Q7).
import type { KubeObject } from '@fairlead/kube'
import type { Identity } from './identity.ts'
import { formatIdentity, parseIdentity } from './identity.ts'
import { mapKeyOf } from './map-key.ts'

/** Label with the map key of an output's group. */
export const mapKeyLabel = 'metacontroller.k8s.io/map-key'
/** Annotation with the name of the MapController. */
export const controllerAnnotation = 'metacontroller.k8s.io/map-controller'
/** Annotation with the identity of the parent. */
export const parentAnnotation = 'metacontroller.k8s.io/map-parent'
/** Annotation with the identity of the input. */
export const inputAnnotation = 'metacontroller.k8s.io/map-input'
/** Annotation that counts how many maps stand between an object and the first input (Q5). */
export const hopsAnnotation = 'metacontroller.k8s.io/map-hops'
/** Annotation with the digest of what the hook asked for when the output was written last. */
export const appliedAnnotation = 'metacontroller.k8s.io/map-applied'
/** Annotation with the digest of the input and parent that the hook saw when the output was written last. */
export const seenAnnotation = 'metacontroller.k8s.io/map-seen'

/** How many maps a chain may have before it is stopped (specs/map.md §1). */
export const hopLimit = 8

/** The tag of an output. */
export interface Tag {
  readonly controller: string
  readonly parent: Identity
  readonly input: Identity
  readonly mapKey: string
}

/** The tag that an object carries. Undefined when there is none, or when label and annotations contradict each other. */
export function tagOf(object: KubeObject): Tag | undefined {
  const known = tags.get(object)
  if (known !== undefined) return known ?? undefined
  const tag = readTag(object)
  tags.set(object, tag ?? null)
  return tag
}

/** Objects are frozen and shared, and every controller asks for the tags of all: each is read once. */
const tags = new WeakMap<KubeObject, Tag | null>()

function readTag(object: KubeObject): Tag | undefined {
  const mapKey = object.metadata.labels?.[mapKeyLabel]
  const annotations = object.metadata.annotations
  if (mapKey === undefined || annotations === undefined) return undefined
  const controller = annotations[controllerAnnotation]
  const parent = parseIdentity(annotations[parentAnnotation] ?? '')
  const input = parseIdentity(annotations[inputAnnotation] ?? '')
  if (controller === undefined || parent === undefined || input === undefined || mapKeyOf(input) !== mapKey)
    return undefined
  return { controller, parent, input, mapKey }
}

/** Labels that carry a tag. */
export function tagLabels(tag: Tag): Record<string, string> {
  return { [mapKeyLabel]: tag.mapKey }
}

/** Annotations that carry a tag; `hops` is how many maps the output is away from the first input. */
export function tagAnnotations(tag: Tag, hops: number): Record<string, string> {
  return {
    [controllerAnnotation]: tag.controller,
    [parentAnnotation]: formatIdentity(tag.parent),
    [inputAnnotation]: formatIdentity(tag.input),
    [hopsAnnotation]: String(hops),
  }
}

/** How many maps made this object: 0 for one that no map made. */
export function hopsOf(object: KubeObject): number {
  const text = object.metadata.annotations?.[hopsAnnotation]
  if (text === undefined) return 0
  const hops = Number(text)
  return Number.isInteger(hops) && hops > 0 ? hops : 0
}
