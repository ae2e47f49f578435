// What is applied for a wanted output, and whether an observed one already is as applied.
import type { JsonObject, JsonValue, KubeObject, OwnerReference } from '@fairlead/kube'
import { asJson, jsonEqual, longLabelValue, ownerReferenceTo } from '@fairlead/kube'
import type { DesiredOutput } from './response.ts'
import { digest } from './digest.ts'
import type { Tag } from './tag.ts'
import {
  appliedAnnotation,
  controllerAnnotation,
  hopsAnnotation,
  inputAnnotation,
  mapKeyLabel,
  parentAnnotation,
  seenAnnotation,
  tagAnnotations,
  tagLabels,
} from './tag.ts'

/** The field manager of a MapController's writes: one per controller, at most 128 characters. */
export function fieldManager(controllerName: string): string {
  return `metacontroller-map-${longLabelValue(controllerName)}`
}

/** Everything a configuration carries beside what the hook said. */
export interface Provenance {
  readonly tag: Tag
  readonly parent: KubeObject
  /** Maps between the output and the first input. */
  readonly hops: number
  /** Digest of what the hook was shown; see {@link seenDigest}. */
  readonly seen: string
}

const ownLabels = new Set([mapKeyLabel])
const ownAnnotations = new Set([
  controllerAnnotation,
  parentAnnotation,
  inputAnnotation,
  hopsAnnotation,
  appliedAnnotation,
  seenAnnotation,
])

/** The configuration of an output: the hook's fields, our tag, the owner. `digest` tells whether two answers asked for the same. */
export interface Configuration {
  readonly object: KubeObject
  readonly digest: string
}

/**
 * Builds the configuration of a wanted output. Of its metadata name, namespace, labels, annotations, finalizers and foreign owner
 * references count; what the server alone may set, and `status`, are left out.
 */
export function configurationOf(wanted: DesiredOutput, mark: Provenance): Configuration {
  const { apiVersion, kind, metadata, status: _status, ...content } = wanted.object
  const { namespace, name } = wanted.identity
  const labels = without(metadata.labels, ownLabels)
  const annotations = without(metadata.annotations, ownAnnotations)
  const owners = foreignOwners(metadata.ownerReferences, mark.parent)
  const finalizers = metadata.finalizers ?? []
  const asked = digest({ apiVersion, kind, content, labels, annotations, owners, finalizers })
  const object: KubeObject = {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === '' ? {} : { namespace }),
      labels: { ...labels, ...tagLabels(mark.tag) },
      annotations: {
        ...annotations,
        ...tagAnnotations(mark.tag, mark.hops),
        [appliedAnnotation]: asked,
        [seenAnnotation]: mark.seen,
      },
      ownerReferences: [...owners, ownerReferenceTo(mark.parent)],
      ...(finalizers.length === 0 ? {} : { finalizers }),
    },
    ...content,
  }
  return { object, digest: asked }
}

/**
 * The observed output is what applying the configuration would leave: it was applied with the same wishes, and its manager still owns every
 * field of it. Who changes one of our fields takes its ownership away, so values need no comparison, and what the server writes in another
 * form (quantities, defaults) is no difference.
 */
export function isAsApplied(observed: KubeObject, configuration: Configuration, manager: string): boolean {
  if (observed.metadata.annotations?.[appliedAnnotation] !== configuration.digest) return false
  const entries = observed.metadata.managedFields ?? []
  const own = entries.find((entry) => entry.manager === manager && entry.operation === 'Apply' && !entry.subresource)
  if (own?.fieldsV1 === undefined) return false
  const others = entries.flatMap((entry) => (entry === own || entry.fieldsV1 === undefined ? [] : [entry.fieldsV1]))
  const { apiVersion: _version, kind: _kind, metadata, ...content } = configuration.object
  const { name: _name, namespace: _namespace, ...ownMetadata } = metadata
  return ownsAll(own.fieldsV1, { ...content, metadata: asJson(ownMetadata) } as JsonObject, asJson(observed), others)
}

/**
 * Every field of a value is in a set of fields (the form of `managedFields[].fieldsV1`). A leaf owns its value as a whole (scalars, atomic
 * lists and maps), or is what is left of a map whose fields others took: then they own something below it, or fields are missing.
 */
function ownsAll(
  fields: JsonObject,
  value: JsonValue,
  observed: JsonValue | undefined,
  others: readonly JsonObject[],
): boolean {
  const members = membersOf(fields)
  if (members.length === 0)
    return !isContainer(value) || (isThere(value, observed) && !others.some((other) => membersOf(other).length > 0))
  if (Array.isArray(value)) {
    return (value as readonly JsonValue[]).every((item) =>
      members.some((member) => ownsItem(member, fields[member] as JsonObject, item, observed, others)),
    )
  }
  if (!isObject(value)) return false
  return Object.entries(value).every(([name, field]) => {
    const owned = fields[`f:${name}`]
    if (!isObject(owned)) return field === null
    return ownsAll(owned, field, isObject(observed) ? observed[name] : undefined, below(others, `f:${name}`))
  })
}

function ownsItem(
  member: string,
  fields: JsonObject,
  item: JsonValue,
  observed: JsonValue | undefined,
  others: readonly JsonObject[],
): boolean {
  const label = member.slice(2)
  if (member.startsWith('v:')) return jsonEqual(JSON.parse(label) as JsonValue, item)
  if (!member.startsWith('k:') || !isObject(item)) return false
  // Keys that the server defaults (a port's protocol) are missing in the configuration.
  const key = JSON.parse(label) as JsonObject
  if (!Object.keys(key).every((name) => item[name] === undefined || item[name] === key[name])) return false
  const items = Array.isArray(observed) ? (observed as readonly JsonValue[]) : []
  const own = items.find((other) => isObject(other) && Object.keys(key).every((name) => other[name] === key[name]))
  return ownsAll(fields, item, own, below(others, member))
}

function membersOf(fields: JsonObject): string[] {
  return Object.keys(fields).filter((member) => member !== '.')
}

function below(others: readonly JsonObject[], member: string): JsonObject[] {
  return others.map((other) => other[member]).filter(isObject)
}

/** An object or list that has something in it. */
function isContainer(value: JsonValue): boolean {
  return Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0
}

/** The observed value has at least the fields that an object names, or some items where a list has them. */
function isThere(value: JsonValue, observed: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return Array.isArray(observed) && observed.length > 0
  return isObject(value) && isObject(observed) && Object.keys(value).every((name) => Object.hasOwn(observed, name))
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

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
