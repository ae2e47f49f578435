// Public API of @fairlead/simulator: start with `new Simulator(parseRules(text, file)).setup(manager)`.
export { Simulator } from './simulator.ts'
export { RulesError, parseRules } from './rule.ts'
export type { ConditionTemplate, Rule } from './rule.ts'
export { parseTemplate } from './template.ts'
export type { Template, TemplateValues } from './template.ts'
