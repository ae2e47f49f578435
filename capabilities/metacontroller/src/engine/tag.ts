// The tag of an output: a label with the map key, annotations with the controller, the parent and the input (Q7).
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
/** Annotation with the number of maps between the first input and an object (Q5). */
export const hopsAnnotation = 'metacontroller.k8s.io/map-hops'
/** Annotation with the digest of the output that the hook wanted at the last write. */
export const appliedAnnotation = 'metacontroller.k8s.io/map-applied'
/** Annotation with the digest of the input and parent that the hook was sent at the last write. */
export const seenAnnotation = 'metacontroller.k8s.io/map-seen'

/** Annotation of outputs that their parent does not control, with the value `Owner`. */
export const ownershipAnnotation = 'metacontroller.k8s.io/map-ownership'

/** Longest chain of maps; an object of such a chain is not mapped any further (specs/map.md §1). */
export const hopLimit = 8

/** The tag of an output. */
export interface Tag {
  readonly controller: string
  readonly parent: Identity
  readonly input: Identity
  readonly mapKey: string
  /** The parent controls the output (when left out), or is one of its owners. */
  readonly ownership?: 'Controller' | 'Owner'
}

/** Returns the tag of an object; undefined when it has none, or when label and annotations contradict each other. */
export function tagOf(object: KubeObject): Tag | undefined {
  const known = tags.get(object)
  if (known !== undefined) return known ?? undefined
  const tag = readTag(object)
  tags.set(object, tag ?? null)
  return tag
}

/** Parsed tags. Objects are frozen and shared, and every controller reads the tags of all: each is parsed once. */
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
  const isOwner = annotations[ownershipAnnotation] === 'Owner'
  return { controller, parent, input, mapKey, ...(isOwner ? { ownership: 'Owner' } : {}) }
}

/** Returns the labels of a tag. */
export function tagLabels(tag: Tag): Record<string, string> {
  return { [mapKeyLabel]: tag.mapKey }
}

/** Returns the annotations of a tag; `hops` is the number of maps between the first input and the output. */
export function tagAnnotations(tag: Tag, hops: number): Record<string, string> {
  return {
    [controllerAnnotation]: tag.controller,
    [parentAnnotation]: formatIdentity(tag.parent),
    [inputAnnotation]: formatIdentity(tag.input),
    [hopsAnnotation]: String(hops),
    ...(tag.ownership === 'Owner' ? { [ownershipAnnotation]: tag.ownership } : {}),
  }
}

/** Returns the number of maps that led to this object: 0 for an object that no map created. */
export function hopsOf(object: KubeObject): number {
  const value = object.metadata.annotations?.[hopsAnnotation]
  if (value === undefined) return 0
  const hops = Number(value)
  return Number.isInteger(hops) && hops > 0 ? hops : 0
}
