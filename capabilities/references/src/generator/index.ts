// Public API of @fairlead/references/generator: from an API model and generator.yaml to CRDs with references. Start
// with `generate`.
export { generate } from './generate.ts'
export type { Generated, GeneratedKind, GenerateOptions } from './generate.ts'
export type { GeneratedReference, OneOfRule } from './references.ts'
export { filesOf } from './files.ts'
export type { GeneratedFile } from './files.ts'
export { breakingChanges } from './crd-compat.ts'
export type { BreakingChange } from './crd-compat.ts'
export { crdTypes } from './type-declarations.ts'
export type { CustomResourceDefinition, StructuralSchema } from './type-declarations.ts'
export { readSmithyModel } from './smithy-model.ts'
export { readServiceModel } from './carried-model.ts'
export type { Bounds, Operation, ServiceModel, Shape, ShapeField } from './service-model.ts'
export { readGeneratorConfig } from './generator-config.ts'
export type {
  FieldConfig,
  GeneratorConfig,
  OperationConfig,
  ReferenceConfig,
  ReferentConfig,
  ResourceConfig,
} from './generator-config.ts'
export { GeneratorError } from './generator-error.ts'
export type { GeneratorErrorCode } from './generator-error.ts'

// its rules, one by one
export { classify } from './operations.ts'
export type { ClassifiedOperation, OperationType } from './operations.ts'
export { fieldName, kindName, pluralName, referenceName } from './names.ts'
export type { ReferenceNaming } from './names.ts'
