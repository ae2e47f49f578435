// x-kubernetes-validations run by CEL: what fills the seam of validation-rules.ts.
import { compileRules, hasRules, validateRules } from '@fairlead/kube/cel'
import type { RuleEngine } from './validation-rules.ts'

/** The engine that servers use. */
export const celRules: RuleEngine = {
  compile: (schema, path) => compileRules(schema, path),
  checkDefault(value, schema, path) {
    // A default may come with an update that does not touch it as well as with a creation: it has to pass both.
    const kept = validateRules(value, schema, { path, old: value })
    return kept.length > 0 ? kept : validateRules(value, schema, { path })
  },
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
