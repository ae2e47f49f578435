// What is applied for a wanted output, and whether an observed one already is as applied.
import type { JsonObject, JsonValue, KubeObject, OwnerReference } from '@fairlead/kube'
import { asJson, jsonEqual, longLabelValue, ownerReferenceTo } from '@fairlead/kube'
import type { WantedOutput } from './answer.ts'
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
export interface Mark {
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
export function configurationOf(wanted: WantedOutput, mark: Mark): Configuration {
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
  const entry = observed.metadata.managedFields?.find(
    (one) => one.manager === manager && one.operation === 'Apply' && !one.subresource,
  )
  if (entry?.fieldsV1 === undefined) return false
  const { apiVersion: _version, kind: _kind, metadata, ...content } = configuration.object
  const { name: _name, namespace: _namespace, ...ownMetadata } = metadata
  return ownsAll(entry.fieldsV1, { ...content, metadata: asJson(ownMetadata) } as JsonObject)
}

/** Every field of a value is in a set of fields (the form of `managedFields[].fieldsV1`). */
function ownsAll(fields: JsonObject, value: JsonValue): boolean {
  const members = Object.keys(fields).filter((member) => member !== '.')
  // A leaf owns its value as a whole: scalars, atomic lists and maps, empty ones.
  if (members.length === 0) return true
  if (Array.isArray(value)) {
    if (value.length === 0) return true
    return (value as readonly JsonValue[]).every((item) =>
      members.some((member) => ownsItem(member, fields[member] as JsonObject, item)),
    )
  }
  if (!isObject(value)) return false
  return Object.entries(value).every(([name, field]) => {
    const owned = fields[`f:${name}`]
    return isObject(owned) ? ownsAll(owned, field) : field === null
  })
}

function ownsItem(member: string, fields: JsonObject, item: JsonValue): boolean {
  const label = member.slice(2)
  if (member.startsWith('v:')) return jsonEqual(JSON.parse(label) as JsonValue, item)
  if (!member.startsWith('k:') || !isObject(item)) return false
  // Keys that the server defaults (a port's protocol) are missing in the configuration.
  const key = JSON.parse(label) as JsonObject
  return Object.keys(key).every((name) => item[name] === undefined || item[name] === key[name]) && ownsAll(fields, item)
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
