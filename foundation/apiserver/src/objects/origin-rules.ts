// The rules that differ by the origin of a resource, one object per origin. The real server has two stacks: typed
// resources with a route per verb (k8s.io/apiserver, generic registry) and unstructured ones behind one handler
// (k8s.io/apiextensions-apiserver, customresource_handler.go).
import type { BodyDecoder, ResourceDefinition, ResourceOrigin, VersionDefinition } from '@fairlead/builtin-kinds'
import { cloneJson, isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { applyPatchType, jsonPatchType, mergePatchType, strategicPatchType } from '../http/media-type.ts'
import { pruneCustomResource } from './custom-resource.ts'
import { storedCustomForm, storedForm } from './object-form.ts'

/** A decoded body: an object that may be changed, and the paths of fields that its version does not have. */
export interface DecodedBody {
  readonly object: JsonObject
  readonly unknownFields: readonly string[]
}

/** The rules of one origin. */
export interface OriginRules {
  /**
   * Objects have no Go type; the schema of their version describes them. They have no protobuf form, their fields are
   * sorted, bodies must have a `kind`, and the defaults of the schema apply on reads too.
   */
  readonly isUnstructured: boolean
  /**
   * The resource has a route per verb and path, which answers 404 and 405 itself. One handler of all paths serves the
   * others, HEAD included.
   */
  readonly hasRoutePerVerb: boolean
  /** The routes check the media types that they consume and produce before the serializers negotiate. */
  readonly checksRouteTypes: boolean
  /** Media types of PATCH, in the order of error messages. */
  readonly patchTypes: readonly string[]
  /** PUT without a resourceVersion overwrites, unless the strategy decides otherwise. */
  readonly allowsUnconditionalUpdate: boolean
  /** Keys of the storage, in messages about failed preconditions, include the group. */
  readonly hasGroupInStorageKey: boolean
  /** Errors of validation have the kind of the object itself, even where that is the invalid field. */
  readonly namesOwnKindInErrors: boolean
  /** Field selectors of cluster-scoped resources may have metadata.namespace. */
  readonly selectsNamespaceEverywhere: boolean
  /** Finalizers must be qualified or standard names; otherwise others are only warned about. */
  readonly requiresKnownFinalizers: boolean
  /** Writes of `/status` leave metadata as it is, whatever the strategy. */
  readonly statusKeepsMetadata: boolean
  /** The last page of a list has an empty `continue`. */
  readonly hasEmptyContinue: boolean
  /** Decodes a body of a version. @throws TypeMismatch */
  decode(version: VersionDefinition, body: JsonObject, decoder?: BodyDecoder): DecodedBody
  /** Returns the form in which an object is stored. */
  storedForm(object: JsonObject): JsonObject
}

const builtin: OriginRules = {
  isUnstructured: false,
  hasRoutePerVerb: true,
  checksRouteTypes: true,
  patchTypes: [jsonPatchType, mergePatchType, strategicPatchType, applyPatchType],
  allowsUnconditionalUpdate: true,
  hasGroupInStorageKey: false,
  namesOwnKindInErrors: false,
  selectsNamespaceEverywhere: true,
  requiresKnownFinalizers: true,
  statusKeepsMetadata: false,
  hasEmptyContinue: false,
  decode: (version, body, decoder) =>
    keepEmptyManagedFields(
      body,
      version.decode?.(body, decoder) ?? { object: cloneJson(body) as JsonObject, unknownFields: [] },
    ),
  storedForm,
}

const custom: OriginRules = {
  isUnstructured: true,
  hasRoutePerVerb: false,
  checksRouteTypes: false,
  patchTypes: [jsonPatchType, mergePatchType, applyPatchType],
  allowsUnconditionalUpdate: false,
  hasGroupInStorageKey: true,
  namesOwnKindInErrors: true,
  selectsNamespaceEverywhere: false,
  requiresKnownFinalizers: false,
  statusKeepsMetadata: true,
  hasEmptyContinue: true,
  decode: (version, body) => pruneCustomResource(body, version.schema),
  storedForm: storedCustomForm,
}

const rules: Readonly<Record<ResourceOrigin, OriginRules>> = {
  builtin,
  custom,
  // Its verbs are those of the storage, so it needs the 405 of a route per verb.
  storage: { ...custom, hasRoutePerVerb: true },
  // Its extension API server handles the requests; this server lists it in discovery only.
  remote: builtin,
}

/** Returns the rules of a resource. */
export function originRules({ origin }: Pick<ResourceDefinition, 'origin'>): OriginRules {
  return rules[origin]
}

/** Keeps an empty `managedFields`, which gives up all ownership: Go's types drop empty lists. */
function keepEmptyManagedFields(body: JsonObject, decoded: DecodedBody): DecodedBody {
  const given = isJsonObject(body['metadata']) ? body['metadata']['managedFields'] : undefined
  const { metadata } = decoded.object
  if (!Array.isArray(given) || given.length > 0 || !isJsonObject(metadata)) return decoded
  return { ...decoded, object: { ...decoded.object, metadata: { ...metadata, managedFields: [] } } }
}
