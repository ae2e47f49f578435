// Revisions of a parent: the fields that make one, and the ControllerRevision that records it, as Metacontroller writes
// it. Pure.
import { hash } from 'node:crypto'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { asJson, isJsonObject, jsonEqual, ownerReferenceTo } from '@fairlead/kube'
import { apiGroup, apiVersion } from '../api.ts'
import type { ChildKind } from '../children/child.ts'
import type { Candidates, Claims } from '../children/claims.ts'
import { goJson } from '../children/merge.ts'
import type { ResolvedResource } from '../engine/resource.ts'

/** The children of one kind on a revision. */
export interface RevisionChildren {
  readonly apiGroup: string
  readonly kind: string
  /** Names; `namespace/name` when the parent is cluster-scoped and the children are not. */
  readonly names: readonly string[]
}

/** A ControllerRevision. */
export interface ControllerRevision extends KubeObject {
  readonly parentPatch: JsonObject
  readonly children?: readonly RevisionChildren[]
}

/** ControllerRevision as a kind of objects that parents control. */
export const revisionKind: ChildKind = {
  apiVersion,
  group: apiGroup,
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  namespaced: true,
  method: 'OnDelete',
}

/** The revisions of parents, for children that are updated one after the other. */
export interface RevisionRules {
  /** Fields of the parent whose change makes a new revision. */
  readonly fieldPaths: readonly string[]
  /** Returns the labels of the ControllerRevisions of a parent. */
  labels(parent: KubeObject): Readonly<Record<string, string>>
  /** Throws SelectorError when the parent's selector is invalid. */
  claim(parent: KubeObject, candidates: Candidates): Claims
}

/** Namespace of the ControllerRevisions of cluster-scoped parents, which Metacontroller cannot roll out. */
const namespaceForClusterScoped = 'default'

/** Returns the namespace of the ControllerRevisions of a parent. */
export function revisionNamespace(parent: KubeObject): string {
  return parent.metadata.namespace ?? namespaceForClusterScoped
}

/** Returns the labels that distinguish the ControllerRevisions of different parent kinds. */
export function revisionLabels({ group, plural }: ResolvedResource): Readonly<Record<string, string>> {
  return { 'metacontroller.k8s.io/apiGroup': group, 'metacontroller.k8s.io/resource': plural }
}

/** Returns the fields at paths such as `spec.template`, in an object of the same shape. */
export function parentPatch(parent: KubeObject, fieldPaths: readonly string[]): JsonObject {
  return fieldPaths.reduce<JsonObject>((patch, path) => copyField(asJson(parent), patch, path.split('.')), {})
}

/** Returns the parent with the fields of a patch; fields that the patch lacks stay. */
export function withParentPatch(parent: KubeObject, patch: JsonObject, fieldPaths: readonly string[]): KubeObject {
  return fieldPaths.reduce<JsonObject>(
    (object, path) => copyField(patch, object, path.split('.')),
    asJson(parent),
  ) as unknown as KubeObject
}

/** Returns a ControllerRevision without children. */
export function newRevision(
  parent: KubeObject,
  parentKind: ResolvedResource,
  patch: JsonObject,
  { labels }: Pick<RevisionRules, 'labels'>,
): ControllerRevision {
  const { uid = '' } = parent.metadata
  return {
    apiVersion: revisionKind.apiVersion,
    kind: revisionKind.kind,
    metadata: {
      name: revisionName(uid, parentKind, patch),
      namespace: revisionNamespace(parent),
      labels: { ...labels(parent), ...revisionLabels(parentKind) },
      ownerReferences: [ownerReferenceTo(parent)],
    },
    parentPatch: patch,
  }
}

/** Returns whether a ControllerRevision records a revision. */
export function isRevision(revision: ControllerRevision, patch: JsonObject): boolean {
  return jsonEqual(revision.parentPatch, patch)
}

/** The hash is made of the JSON that Go writes, so that the name does not depend on the writer. */
function revisionName(uid: string, { plural, group }: ResolvedResource, patch: JsonObject): string {
  const digest = hash('sha1', `${uid}${goJson(patch)}`)
  const prefix = `${plural}.${group === '' ? 'core' : group}`
  return `${prefix.slice(0, 253 - digest.length - 1)}-${digest}`
}

/**
 * Returns the labels by which ControllerRevisions of a parent are found: those of its template, or without one those
 * that its selector asks for.
 */
export function templateLabels(parent: KubeObject): Readonly<Record<string, string>> {
  const content = asJson(parent)
  const labels =
    fieldAt(content, ['spec', 'template', 'metadata', 'labels']) ??
    fieldAt(content, ['spec', 'selector', 'matchLabels'])
  if (!isJsonObject(labels)) return {}
  return Object.fromEntries(
    Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

function fieldAt(object: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (value, name) => (isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    object,
  )
}

/** Returns `to` with the field at a path of `from`; `to` itself when there is none. */
function copyField(from: JsonObject, to: JsonObject, path: readonly string[]): JsonObject {
  const value = fieldAt(from, path)
  return value === undefined ? to : withField(to, path, value)
}

function withField(object: JsonObject, [name = '', ...rest]: readonly string[], value: JsonValue): JsonObject {
  if (rest.length === 0) return { ...object, [name]: value }
  const inner = Object.hasOwn(object, name) ? object[name] : undefined
  return { ...object, [name]: withField(isJsonObject(inner) ? inner : {}, rest, value) }
}
