// Custom resources: from CRDs to resource definitions. controllers/crd keeps the registry in step with them.
export { customResourceStrategy } from './custom-strategy.ts'
export { resourceDefinitionFrom } from './resource-definition.ts'
export type { CompiledRules, RuleEngine } from './validation-rules.ts'
