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
