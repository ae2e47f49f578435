// The door of @fairlead/kube.
export * from './object.ts'
export * from './clock.ts'
export type * from './schema/schema-node.ts'

// data: JSON, YAML, names, selectors, conditions, errors, patches
export * from './json.ts'
export * from './own-property.ts'
export * from './go-text.ts'
export * from './go-json.ts'
export * from './names.ts'
export * from './selector.ts'
export * from './field-selector.ts'
export * from './conditions.ts'
export * from './owner-references.ts'
export * from './field-error.ts'
export * from './status.ts'
export * from './patch/json-patch.ts'
export * from './patch/merge-patch.ts'

// structured merge and managed fields

// structural schemas
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
