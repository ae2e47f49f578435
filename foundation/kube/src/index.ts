// The door of @fairlead/kube.
export * from './object.ts'
export * from './clock.ts'
export type * from './schema/schema-node.ts'

// data: JSON, YAML, names, selectors, conditions, errors, patches

// structured merge and managed fields

// structural schemas
