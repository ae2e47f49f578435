// Public API of @fairlead/kube. Start with KubeObject; CEL is in @fairlead/kube/cel.
export * from './object.ts'
export * from './clock.ts'
export type { UserInfo } from './user.ts'

// JSON and YAML
export * from './json.ts'
export { decodeBody, locateYamlDocuments, parseYaml, parseYamlDocuments } from './yaml/reader.ts'
export type { LocatedDocument } from './yaml/reader.ts'
export { stringifyYaml, stringifyYamlDocuments } from './yaml/writer.ts'
export { YamlSyntaxError } from './yaml/syntax-error.ts'
export { setYamlStrings } from './yaml/edit.ts'
export type { YamlEdit } from './yaml/edit.ts'
export * from './own-property.ts'
export * from './go-text.ts'
export * from './go-json.ts'
export { formatGoMicroTime, formatGoTime, GoTimeSyntaxError, parseGoMicroTime, parseGoTime } from './go-time.ts'
export type { GoTime } from './go-time.ts'

// names, selectors, JSONPath
export * from './names.ts'
export * from './version-order.ts'
export * from './selector.ts'
export * from './field-selector.ts'
export * from './jsonpath.ts'
export * from './regex.ts'
export * from './random-name.ts'

// conditions, owner references, errors
export * from './conditions.ts'
export * from './owner-references.ts'
export * from './status.ts'
export * from './field-error.ts'
export { webhookServiceErrors, webhookUrlErrors } from './webhook-client-config.ts'
export type { WebhookService } from './webhook-client-config.ts'

// quantities and durations
export * from './quantity.ts'
export * from './duration.ts'

// patches
export * from './patch/json-patch.ts'
export * from './patch/merge-patch.ts'
export * from './patch/strategic-merge.ts'

// structured merge and managed fields
export { applyServerSide, resetFieldsOf, trackUpdate } from './merge/managed-fields.ts'
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
export * from './merge/field-set.ts'
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
export type * from './schema/schema-node.ts'
export { defaultOf, structuralSchema } from './schema/resolve.ts'
export * from './schema/prune.ts'
export * from './schema/default.ts'
export { validateValue } from './schema/validate.ts'
export type { ValidateOptions } from './schema/validate.ts'
export * from './schema/list-type.ts'
export * from './schema/object-meta.ts'
export * from './schema/embedded.ts'
export * from './schema/unknown-fields.ts'
export { formatCheck } from './schema/format.ts'
export type { FormatCheck } from './schema/format.ts'
export * from './schema/crd.ts'
