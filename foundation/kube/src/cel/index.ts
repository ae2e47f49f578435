// The door of @fairlead/kube/cel. Start with compile.
export * from './compile.ts'
export * from './errors.ts'
export { types, listOf, mapOf, objectOf, optionalOf, opaque, formatType } from './types.ts'
export type { CelType } from './types.ts'
export { Duration, MapValue, OpaqueValue, Optional, Timestamp, TypeValue, Uint, fromJson, toJson } from './values.ts'
export type { CelValue } from './values.ts'
