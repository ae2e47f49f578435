// The configuration that is applied for a desired output, and whether an observed output already matches it.
import { hash } from 'node:crypto'
import type { JsonObject, JsonValue, KubeObject, OwnerReference } from '@fairlead/kube'
import { asJson, isJsonObject, jsonEqual, longLabelValue, ownerReferenceTo } from '@fairlead/kube'
import { digest } from './digest.ts'
import type { Identity } from './identity.ts'
import { formatIdentity, identityOf } from './identity.ts'
import type { DesiredOutput } from './response.ts'
import type { Tag } from './tag.ts'
import {
  appliedAnnotation,
  controllerAnnotation,
  hopsAnnotation,
  inputAnnotation,
  mapKeyLabel,
  ownershipAnnotation,
  parentAnnotation,
  seenAnnotation,
  tagAnnotations,
  tagLabels,
} from './tag.ts'

/** Begins the names of the field managers of all MapControllers. */
export const managerPrefix = 'metacontroller-map-'

/** Returns the field manager of a MapController's writes of status: one per controller, at most 128 characters. */
export function fieldManager(controllerName: string): string {
  return `${managerPrefix}${longLabelValue(controllerName)}`
}

/**
 * Returns the field manager of the outputs of one parent. Two parents that create an object of one name at the same
 * time conflict because their managers differ: with one manager the second apply would replace the first. It is made
 * from the parent's identity, so that a parent that is created again manages the outputs that it adopts.
 */
export function outputManager(controllerName: string, parent: KubeObject): string {
  return outputManagerOf(controllerName, identityOf(parent))
}

/** Returns the field manager of the outputs of the parent of an identity. */
export function outputManagerOf(controllerName: string, parent: Identity): string {
  return `${fieldManager(controllerName)}-${hash('sha256', formatIdentity(parent)).slice(0, 10)}`
}

/** The provenance of an output: the part of its configuration that does not come from the hook. */
export interface Provenance {
  readonly tag: Tag
  readonly parent: KubeObject
  /** Number of maps between the first input and the output. */
  readonly hops: number
  /** Digest of the objects that the hook was sent; see {@link seenDigest}. */
  readonly seen: string
}

const ownLabels = new Set([mapKeyLabel])
const ownAnnotations = new Set([
  controllerAnnotation,
  parentAnnotation,
  inputAnnotation,
  hopsAnnotation,
  ownershipAnnotation,
  appliedAnnotation,
  seenAnnotation,
])

/**
 * The configuration of an output: the hook's fields, our tag, the owner. Responses that want the same output have one
 * `digest`.
 */
export interface Configuration {
  readonly object: KubeObject
  readonly digest: string
}

/**
 * Builds the configuration of a desired output. Of its metadata it takes name, namespace, labels, annotations,
 * finalizers and foreign owner references; fields that only the server may set, and `status`, are left out.
 */
export function configurationOf(desired: DesiredOutput, provenance: Provenance): Configuration {
  const { apiVersion, kind, metadata, status: _status, ...content } = desired.object
  const { namespace, name } = desired.identity
  const labels = without(metadata.labels, ownLabels)
  const annotations = without(metadata.annotations, ownAnnotations)
  const owners = foreignOwners(metadata.ownerReferences, provenance.parent)
  const finalizers = metadata.finalizers ?? []
  const { ownership = 'Controller' } = desired.kind
  const isOwner = ownership === 'Owner'
  const tag = isOwner ? { ...provenance.tag, ownership } : provenance.tag
  const applied = { apiVersion, kind, content, labels, annotations, owners, finalizers }
  const appliedDigest = digest(isOwner ? { ...applied, ownership } : applied)
  const object: KubeObject = {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === '' ? {} : { namespace }),
      labels: { ...labels, ...tagLabels(tag) },
      annotations: {
        ...annotations,
        ...tagAnnotations(tag, provenance.hops),
        [appliedAnnotation]: appliedDigest,
        [seenAnnotation]: provenance.seen,
      },
      ownerReferences: [...owners, outputOwner(provenance.parent, ownership)],
      ...(finalizers.length === 0 ? {} : { finalizers }),
    },
    ...content,
  }
  return { object, digest: appliedDigest }
}

/** Returns the owner reference of an output to its parent. */
export function outputOwner(parent: KubeObject, ownership: Tag['ownership']): OwnerReference {
  return ownership === 'Owner'
    ? ownerReferenceTo(parent, { controller: false, blockOwnerDeletion: false })
    : ownerReferenceTo(parent)
}

/**
 * Returns whether applying the configuration would leave the observed output as it is: the same configuration was
 * applied last, and its manager still owns every field of it. A manager that changes one of our fields takes over its
 * ownership, so values need no comparison, and values that the server normalizes (quantities, defaults) are no
 * difference.
 */
export function isAsApplied(observed: KubeObject, configuration: Configuration, manager: string): boolean {
  if (observed.metadata.annotations?.[appliedAnnotation] !== configuration.digest) return false
  const entries = observed.metadata.managedFields ?? []
  const own = entries.find((entry) => entry.manager === manager && entry.operation === 'Apply' && !entry.subresource)
  if (own?.fieldsV1 === undefined) return false
  const others = entries.flatMap((entry) => (entry === own || entry.fieldsV1 === undefined ? [] : [entry.fieldsV1]))
  const { apiVersion: _version, kind: _kind, metadata, ...content } = configuration.object
  // An adopted output has its owner reference from the adoption, which is no apply: it is enough that it is there.
  const { name: _name, namespace: _namespace, ownerReferences, ...ownMetadata } = metadata
  if (!hasOwners(observed, ownerReferences)) return false
  return ownsAll(own.fieldsV1, { ...content, metadata: asJson(ownMetadata) } as JsonObject, asJson(observed), others)
}

/**
 * Returns whether an observed output has every value of the configuration, by any manager, and no field that our
 * manager applied and the configuration lacks: applying it would change nothing but ownership. Values that the server
 * normalizes count as different.
 */
export function isEquivalent(observed: KubeObject, configuration: Configuration, manager: string): boolean {
  const { apiVersion: _version, kind: _kind, metadata, ...content } = configuration.object
  const { ownerReferences, annotations, ...ownMetadata } = metadata
  const { [appliedAnnotation]: _applied, [seenAnnotation]: _seen, ...ownValues } = annotations ?? {}
  const wanted = { ...content, metadata: asJson({ ...ownMetadata, annotations: ownValues }) } as JsonObject
  if (!hasOwners(observed, ownerReferences) || !hasValues(asJson(observed), wanted)) return false
  const entries = observed.metadata.managedFields ?? []
  const own = entries.find((entry) => entry.manager === manager && entry.operation === 'Apply' && !entry.subresource)
  return own?.fieldsV1 === undefined || lacksNothing(own.fieldsV1, asJson(configuration.object))
}

function hasOwners(observed: KubeObject, references: readonly OwnerReference[] | undefined): boolean {
  const uids = new Set(observed.metadata.ownerReferences?.map(({ uid }) => uid))
  return (references ?? []).every(({ uid }) => uids.has(uid))
}

/** Returns whether a value has all that is wanted: maps at least the wanted fields, lists exactly the wanted items. */
function hasValues(value: JsonValue | undefined, wanted: JsonValue): boolean {
  if (Array.isArray(wanted)) {
    const items = wanted as readonly JsonValue[]
    return (
      Array.isArray(value) && value.length === items.length && items.every((item, at) => hasValues(value[at], item))
    )
  }
  if (!isJsonObject(wanted)) return value !== undefined && jsonEqual(value, wanted)
  if (Object.keys(wanted).length === 0) return value === undefined || isJsonObject(value)
  return isJsonObject(value) && Object.entries(wanted).every(([name, field]) => hasValues(value[name], field))
}

/** Returns whether a configuration has every field of a field set. Items of lists are compared by their values. */
function lacksNothing(fields: JsonObject, configuration: JsonValue | undefined): boolean {
  if (configuration === undefined) return false
  return elementsOf(fields).every(
    (element) =>
      !element.startsWith('f:') ||
      element === 'f:ownerReferences' ||
      (isJsonObject(configuration) && lacksNothing(fields[element] as JsonObject, configuration[element.slice(2)])),
  )
}

/**
 * Returns whether a field set (the form of `managedFields[].fieldsV1`) contains every field of a value. A leaf owns its
 * value as a whole (scalars, atomic lists and maps), or is the rest of a map whose fields other managers took over:
 * then they own something below it, or fields are missing.
 */
function ownsAll(
  fields: JsonObject,
  value: JsonValue,
  observed: JsonValue | undefined,
  others: readonly JsonObject[],
): boolean {
  const elements = elementsOf(fields)
  if (elements.length === 0)
    return !isContainer(value) || (isThere(value, observed) && !others.some((other) => elementsOf(other).length > 0))
  if (Array.isArray(value)) {
    return (value as readonly JsonValue[]).every((item) =>
      elements.some((element) => ownsItem(element, fields[element] as JsonObject, item, observed, others)),
    )
  }
  if (!isJsonObject(value)) return false
  return Object.entries(value).every(([name, field]) => {
    const owned = fields[`f:${name}`]
    if (!isJsonObject(owned)) return field === null
    return ownsAll(owned, field, isJsonObject(observed) ? observed[name] : undefined, below(others, `f:${name}`))
  })
}

function ownsItem(
  element: string,
  fields: JsonObject,
  item: JsonValue,
  observed: JsonValue | undefined,
  others: readonly JsonObject[],
): boolean {
  const label = element.slice(2)
  if (element.startsWith('v:')) return jsonEqual(JSON.parse(label) as JsonValue, item)
  if (!element.startsWith('k:') || !isJsonObject(item)) return false
  // Keys that the server defaults (a port's protocol) are missing in the configuration.
  const key = JSON.parse(label) as JsonObject
  if (!Object.keys(key).every((name) => item[name] === undefined || item[name] === key[name])) return false
  const items = Array.isArray(observed) ? (observed as readonly JsonValue[]) : []
  const own = items.find((other) => isJsonObject(other) && Object.keys(key).every((name) => other[name] === key[name]))
  return ownsAll(fields, item, own, below(others, element))
}

function elementsOf(fields: JsonObject): string[] {
  return Object.keys(fields).filter((element) => element !== '.')
}

function below(others: readonly JsonObject[], element: string): JsonObject[] {
  return others.map((other) => other[element]).filter(isJsonObject)
}

/** Returns whether a value is a map or list that is not empty. */
function isContainer(value: JsonValue): boolean {
  return Array.isArray(value) ? value.length > 0 : isJsonObject(value) && Object.keys(value).length > 0
}

/** Returns whether the observed value has at least the fields of a map, or some items where a list has them. */
function isThere(value: JsonValue, observed: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return Array.isArray(observed) && observed.length > 0
  return (
    isJsonObject(value) && isJsonObject(observed) && Object.keys(value).every((name) => Object.hasOwn(observed, name))
  )
}

function foreignOwners(
  references: readonly OwnerReference[] | undefined,
  parent: KubeObject,
): readonly OwnerReference[] {
  return (references ?? []).filter(
    (reference) => reference.uid !== parent.metadata.uid && reference.controller !== true,
  )
}

function without(
  values: Readonly<Record<string, string>> | undefined,
  left: ReadonlySet<string>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([name]) => !left.has(name)))
}
