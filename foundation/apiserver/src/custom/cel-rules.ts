// The CEL engine for x-kubernetes-validations: implements the interface in validation-rules.ts.
import { definitionRules, hasRules, validateRules } from '@fairlead/kube/cel'
import type { RuleEngine } from './validation-rules.ts'

/** The default engine. */
export const celRules: RuleEngine = {
  ...definitionRules,
  rulesOf: (schema) =>
    hasRules(schema)
      ? {
          validate: (value, old, tolerate) =>
            validateRules(value, schema, {
              ...(old === undefined ? {} : { old }),
              ...(tolerate === undefined ? {} : { tolerate }),
            }),
        }
      : undefined,
}
