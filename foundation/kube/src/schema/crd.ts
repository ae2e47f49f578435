// CustomResourceDefinitions: their types, defaults, warnings and validation.
export * from './crd/approval.ts'
export { validateNames as validateDefinitionNames } from './crd/names.ts'
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
} from './crd/definition.ts'
export { asCustomResourceDefinition } from './crd/definition.ts'
export * from './crd/defaults.ts'
export type { DefaultRuleCheck } from './crd/default-values.ts'
export * from './crd/validate-definition.ts'
