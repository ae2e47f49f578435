// Public API of @fairlead/kube. Start with KubeObject; CEL is in @fairlead/kube/cel.
import './node-version.ts'

export {
  parseApiVersion,
  formatApiVersion,
  kindOf,
  keyOf,
  formatKey,
  parseKey,
  isTerminating,
  asJson,
  asObject,
} from './object.ts'
export type {
  JsonValue,
  JsonObject,
  MutableJsonObject,
  OwnerReference,
  ManagedFieldsEntry,
  ObjectMeta,
  KubeObject,
  ObjectKey,
  GroupVersionKind,
} from './object.ts'
export { FakeClock } from './clock.ts'
export type { Clock } from './clock.ts'
export { Slots } from './slots.ts'
export { AsyncDisposableStack, DisposableStack } from './disposable-stack.ts'
export type { UserInfo } from './user.ts'

// JSON and YAML
export { maxJsonDepth, JsonSyntaxError, parseJson, stringifyJson, jsonEqual, deepFreeze, cloneJson } from './json.ts'
export type { ParseJsonOptions } from './json.ts'
export { decodeBody, locateYamlDocuments, parseYaml, parseYamlDocuments } from './yaml/reader.ts'
export type { LocatedDocument } from './yaml/reader.ts'
export { stringifyYaml, stringifyYamlDocuments } from './yaml/writer.ts'
export { YamlSyntaxError } from './yaml/syntax-error.ts'
export { dialectOptions as yamlDialect } from './yaml/dialect.ts'
export { yamlLibrary } from './yaml/library.ts'
export { setYamlStrings } from './yaml/edit.ts'
export type { YamlEdit } from './yaml/edit.ts'
export { ownValue, setOwn, isJsonObject, isJsonArray } from './own-property.ts'
export { goQuote, formatGoNumber, formatGoValue, byKey } from './go-text.ts'
export { marshalGoJson, sortKeys } from './go-json.ts'
export { unifiedDifference } from './unified-difference.ts'
export { formatGoMicroTime, formatGoTime, GoTimeSyntaxError, parseGoMicroTime, parseGoTime } from './go-time.ts'
export type { GoTime } from './go-time.ts'

// names, selectors, JSONPath
export {
  dns1123Label,
  dns1123Subdomain,
  dns1035Label,
  qualifiedName,
  labelValue,
  pathSegmentName,
  configMapKey,
  environmentName,
  portName,
  longLabelValue,
} from './names.ts'
export { compareVersions } from './version-order.ts'
export { SelectorError, everything, nothing, parseLabelSelector, selectorFrom } from './selector.ts'
export type {
  Labels,
  LabelSelectorRequirement,
  LabelSelector,
  SelectorOperator,
  Requirement,
  Selector,
} from './selector.ts'
export { fieldSelector, parseFieldSelector, escapeFieldValue } from './field-selector.ts'
export type { FieldRequirement, FieldSelector } from './field-selector.ts'
export { parseJsonPath, parseColumnPath, relaxedJsonPath } from './jsonpath.ts'
export { JsonPathError } from './jsonpath-error.ts'
export type { JsonPathOptions, JsonPathTemplate } from './jsonpath.ts'
export { RegexError, compileRegex, regexError } from './regex.ts'
export type { Regex } from './regex.ts'
export { nameSuffix, generatedName } from './random-name.ts'

// conditions, owner references, errors
export { builtinHealth, staleness } from './builtin-health.ts'
export type { BuiltinHealth } from './builtin-health.ts'
export { condition, setCondition, findCondition, isConditionTrue, formatTime, formatMicroTime } from './conditions.ts'
export type { Condition, ConditionDetails } from './conditions.ts'
export { ownerReferenceTo, controllerOf, isControlledBy } from './owner-references.ts'
export type { Owner } from './owner-references.ts'
export {
  StatusError,
  failure,
  formatGroupResource,
  notFound,
  resourceNotFound,
  alreadyExists,
  staleObject,
  conflict,
  applyConflict,
  invalid,
  unprocessable,
  badRequest,
  unauthorized,
  forbidden,
  methodNotAllowed,
  methodNotSupported,
  notAcceptable,
  expired,
  requestEntityTooLarge,
  unsupportedMediaType,
  tooManyRequests,
  internalError,
  unknownError,
  serviceUnavailable,
  timeout,
  resourceVersionTooLarge,
  isNotFound,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isUnauthorized,
  isInvalid,
  isExpired,
  isTooManyRequests,
  isTimeout,
  isNamespaceTerminating,
  isFailureStatus,
} from './status.ts'
export type { StatusCause, StatusDetails, Status, GroupResource } from './status.ts'
export { fieldErrorBody, formatFieldError, formatFieldErrors, fieldPath, fieldErrors } from './field-error.ts'
export type { FieldErrorType, FieldError, PathStep } from './field-error.ts'
export { webhookServiceErrors, webhookUrlErrors } from './webhook-client-config.ts'
export type { WebhookService } from './webhook-client-config.ts'

// quantities and durations
export {
  QuantityError,
  parseQuantity,
  isQuantity,
  formatQuantity,
  canonicalQuantity,
  compareQuantities,
  addQuantities,
  subtractQuantities,
} from './quantity.ts'
export type { QuantityFormat, Quantity } from './quantity.ts'
export {
  DurationError,
  parseGoDurationNanoseconds,
  parseGoDuration,
  formatGoDurationNanoseconds,
  formatGoDuration,
  humanAge,
} from './duration.ts'

// patches
export { maxJsonPatchOperations, JsonPatchError, applyJsonPatch, applyJsonPatchSteps } from './patch/json-patch.ts'
export { MergePatchError, mergePatchObject, applyMergePatch, createMergePatch } from './patch/merge-patch.ts'
export { StrategicMergeError, applyStrategicMerge } from './patch/strategic-merge.ts'

// structured merge and managed fields
export {
  applyServerSide,
  applyServerSideSteps,
  resetFieldsOf,
  trackUpdate,
  trackUpdateSteps,
} from './merge/managed-fields.ts'
export { runSteps, runStepsCooperatively } from './steps.ts'
export type { Steps } from './steps.ts'
export type { ApplyRequest, ManagedFieldsRequest, UpdateRequest } from './merge/managed-fields.ts'
export { keepUnchangedTimes } from './merge/unchanged-times.ts'
export {
  fieldManagerOf,
  maxFieldManagerLength,
  validateFieldManager,
  validateManagedFields,
} from './merge/field-manager.ts'
export { managedFieldsOfParent, managedFieldsOfScale } from './merge/scale-fields.ts'
export type { ReplicasPaths } from './merge/scale-fields.ts'
export { decodeManagers, encodeManagers } from './merge/managers.ts'
export type { Manager, Managers } from './merge/managers.ts'
export {
  emptyFieldSet,
  fieldSetOfPaths,
  hasPath,
  fieldPaths,
  unionOf,
  differenceOf,
  recursiveDifferenceOf,
  intersectionOf,
  isSubset,
  equalFieldSets,
  decodeFieldSet,
  encodeFieldSet,
} from './merge/field-set.ts'
export type { FieldNode, FieldSet } from './merge/field-set.ts'
export { FieldsV1Error, formatFieldPath } from './merge/path-element.ts'
export type { PathElement } from './merge/path-element.ts'
export { fieldsOfValue } from './merge/value-fields.ts'
export { compareValues } from './merge/compare-values.ts'
export type { Comparison } from './merge/compare-values.ts'
export { mergeValues } from './merge/merge-values.ts'
export { checkValue } from './merge/check-value.ts'
export { objectTypeOf } from './merge/merge-type.ts'
export type { ListShape, MapShape, MergeType, ScalarShape } from './merge/merge-type.ts'
export { lastAppliedAnnotation } from './merge/last-applied.ts'

// structural schemas
export type { SchemaNode, ValidationRule, TypeSchema } from './schema/schema-node.ts'
export { defaultOf, structuralSchema } from './schema/resolve.ts'
export { prune } from './schema/prune.ts'
export type { Pruned, PruneOptions } from './schema/prune.ts'
export { applySchemaDefaults } from './schema/default.ts'
export type { DefaultOptions } from './schema/default.ts'
export { validateValue } from './schema/validate.ts'
export type { ValidateOptions } from './schema/validate.ts'
export { validateListTypes, validateListTypesOnUpdate } from './schema/list-type.ts'
export { ObjectMetaError, decodeObjectMeta } from './schema/object-meta.ts'
export type { DecodedObjectMeta } from './schema/object-meta.ts'
export { EmbeddedObjectError, coerceEmbeddedMetadata, validateEmbedded } from './schema/embedded.ts'
export { unknownFields, unknownFieldMessage, duplicateFieldMessage } from './schema/unknown-fields.ts'
export { formatCheck } from './schema/format.ts'
export type { FormatCheck } from './schema/format.ts'
export { asCustomResourceDefinition } from './schema/crd/definition.ts'
export type {
  CustomResourceDefinition,
  DefinitionColumn,
  DefinitionConversion,
  DefinitionNames,
  DefinitionParts,
  DefinitionSpec,
  DefinitionStatus,
  DefinitionSubresources,
  DefinitionVersion,
  JsonSchemaProps,
} from './schema/crd/definition.ts'
export { validateNames as validateDefinitionNames } from './schema/crd/names.ts'
export type { DefaultRuleCheck } from './schema/crd/default-values.ts'
export { apiApprovedAnnotation, isProtectedGroup, apiApprovalOf, validateApproval } from './schema/crd/approval.ts'
export type { ApiApproval } from './schema/crd/approval.ts'
export {
  defaultCustomResourceDefinition,
  unrecognizedFormats,
  customResourceDefinitionWarnings,
} from './schema/crd/defaults.ts'
export {
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionStatus,
} from './schema/crd/validate-definition.ts'
export type { DefinitionRules } from './schema/crd/validate-definition.ts'
