// Public API of @fairlead/kube/cel. Start with compile.
export * from './compile.ts'
export * from './errors.ts'
export { ProgramCache } from './program-cache.ts'

// types and values
export { types, listOf, mapOf, objectOf, optionalOf, opaque, formatType, typeString } from './types.ts'
export type { CelType } from './types.ts'
export { Duration, MapValue, OpaqueValue, Optional, Timestamp, TypeValue, Uint, fromJson, toJson } from './values.ts'
export type { CelValue } from './values.ts'

// rules of schemas
export { validateRules, validateRulesSteps, hasRules, requestCelBudget } from './rules.ts'
export type { ValidateRulesOptions } from './rules.ts'
export { compileRules, definitionRules } from './compile-rules.ts'
export { estimateCost, ruleCostLimit, schemaCostLimit } from './cost.ts'
export { declarationOf } from './schema-types.ts'
export type { Declaration } from './schema-types.ts'
export { escapeFieldName } from './field-names.ts'
export { fromTypedJson } from './typed-json.ts'

// libraries
export { authorizerType, authorizerValue } from './library/authorization.ts'
export type { AccessAttributes, AccessCheck, AccessDecision } from './library/authorization.ts'
