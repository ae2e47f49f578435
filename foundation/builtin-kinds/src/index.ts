// Public API of @fairlead/builtin-kinds. Start with builtinResources().
export { builtinResources } from './resources.ts'
export { resourceName, storedApiVersion, TypeMismatch } from './definition/resource-definition.ts'
export type {
  ColumnDefinition,
  ResourceDefinition,
  ResourceOrigin,
  SubresourceDefinition,
  TablePrinter,
  BodyDecoder,
  VersionDefinition,
} from './definition/resource-definition.ts'
export type { Draft, Strategy, Validation, WriteContext } from './definition/strategy.ts'

// tables
export { templateGeneration } from './workloads/stateful-set.ts'
export { customScalePrinter, scalePrinter } from './printers/workloads.ts'
export { builtinGroups } from './tables/groups.ts'
export { builtinSchema, namedSchema, schemaName } from './tables/builtin-tables.ts'
export { defaultPrinter } from './printers/column.ts'

// the Go types of the kinds: JSON as they read and write it
export { declareMessage, messageOfKind, messageType } from './go-types/message-type.ts'
export type { MessageField, MessageType, ScalarType, SpecialForm } from './go-types/message-type.ts'
export { typedForm, zeroForm, zeroStatus } from './go-types/typed-form.ts'
export type { TypedForm } from './go-types/typed-form.ts'

// the resources of pods
export { serviceRange } from './core/service-allocation.ts'
export { qualityOfService } from './pods/quality-of-service.ts'
export { isExtendedResource } from './pods/resource-validation.ts'

// PriorityClasses
export { refuseDeletionOfPriorityClass, systemPriorityClasses } from './pods/priority-class.ts'

// CustomResourceDefinitions
export { cleanupFinalizer, definitionStrategy, setDefinitionCondition } from './cluster/custom-resource-definition.ts'

// the CEL environment of admission
export {
  authorizerDeclaration,
  compileVariables,
  namespaceType,
  policyDeclarations,
  requestDeclarations,
  requestType,
} from './admission/environment.ts'
export type { CompiledVariable, Declarations, PolicyParams, VariableScope } from './admission/environment.ts'
export { Expression } from './admission/expression.ts'
