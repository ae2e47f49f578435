// The CEL engine for x-kubernetes-validations: implements the interface in validation-rules.ts.
import { yieldIfLong } from '@fairlead/client'
import { runStepsCooperatively } from '@fairlead/kube'
import { definitionRules, hasRules, validateRulesSteps } from '@fairlead/kube/cel'
import type { RuleEngine } from './validation-rules.ts'

/** The default engine. */
export const celRules: RuleEngine = {
  ...definitionRules,
  rulesOf: (schema) =>
    hasRules(schema)
      ? {
          validate: (value, old, tolerate) =>
            runStepsCooperatively(
              validateRulesSteps(value, schema, {
                ...(old === undefined ? {} : { old }),
                ...(tolerate === undefined ? {} : { tolerate }),
              }),
              yieldIfLong,
            ),
        }
      : undefined,
}
