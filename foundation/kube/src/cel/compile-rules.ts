// Validation of the CEL rules of a CRD: all compile, transition rules are only where old values correlate, none exceeds
// the cost limits.
import { fieldErrors, fieldPath } from '../field-error.ts'
import type { FieldError } from '../field-error.ts'
import { additionalOf, resolveNode } from '../schema/resolve.ts'
import type { DefinitionRules } from '../schema/crd/validate-definition.ts'
import type { SchemaNode, TypeSchema, ValidationRule } from '../schema/schema-node.ts'
import { compile } from './compile.ts'
import { estimateCost, ruleCostLimit, schemaCostLimit } from './cost.ts'
import { CelCompileError } from './errors.ts'
import { compileRule, ruleEnvironment, formatRule, validateRules } from './rules.ts'
import { declarationOf } from './schema-types.ts'
import type { Declaration } from './schema-types.ts'
import { formatType } from './types.ts'

/** The number of rules reported when the rules of a schema exceed the total cost limit. */
const maxReportedRules = 4

/**
 * Compiles every rule of an otherwise valid schema. `path` is the path of the schema in the definition
 * (`spec.validation.openAPIV3Schema`). Errors are Kubernetes': compilation failures, misplaced transition rules, cost
 * limits. When `old`, the schema before an update, already had a rule beyond its limit, the limit of single rules is
 * not applied.
 */
export function compileRules(schema: TypeSchema, path: string, old?: TypeSchema): FieldError[] {
  const limit = old !== undefined && compileAll(old, path, ruleCostLimit).hasExpensiveRule ? Infinity : ruleCostLimit
  const compiler = compileAll(schema, path, limit)
  return [...compiler.errors, ...compiler.totals(path)]
}

/** The CEL part of `validateCustomResourceDefinition`: rules compile, and defaults satisfy them. */
export const definitionRules: DefinitionRules = {
  compile: compileRules,
  checkDefault(value, schema, path) {
    // A default applies on an update that does not change the field and on create: it has to pass both.
    const updated = validateRules(value, schema, { path, old: value })
    return updated.length > 0 ? updated : validateRules(value, schema, { path })
  },
}

function compileAll(schema: TypeSchema, path: string, limit: number): RuleCompiler {
  const compiler = new RuleCompiler(schema, limit)
  compiler.visit(schema.root, path, { isResource: true, cardinality: 1, uncorrelated: undefined })
  return compiler
}

interface Place {
  readonly isResource: boolean
  /** The maximum number of such values in one object. */
  readonly cardinality: number
  /** The path below which old values do not correlate; undefined where they do. */
  readonly uncorrelated: string | undefined
}

class RuleCompiler {
  readonly errors: FieldError[] = []
  hasExpensiveRule = false
  readonly #schema: TypeSchema
  readonly #limit: number
  readonly #costs: { path: string; cost: number }[] = []
  readonly #open = new Set<SchemaNode>()

  constructor(schema: TypeSchema, limit: number) {
    this.#schema = schema
    this.#limit = limit
  }

  visit(reference: SchemaNode, path: string, place: Place): void {
    const node = resolveNode(reference, this.#schema)
    if (this.#open.has(node)) return
    this.#open.add(node)
    const declaration = declarationOf(node, this.#schema, place.isResource)
    const rules = node['x-kubernetes-validations'] ?? []
    for (const [i, rule] of rules.entries()) {
      const rulePath = fieldPath(path, 'x-kubernetes-validations', i)
      if (declaration !== undefined) this.#rule(rule, declaration, rulePath, place)
    }
    for (const [name, property] of Object.entries(node.properties ?? {})) {
      this.visit(property, fieldPath(path, 'properties', { key: name }), { ...place, isResource: false })
    }
    const additional = additionalOf(node)
    const size = declaration?.maxSize ?? 1
    if (additional !== undefined) {
      this.visit(additional, `${path}.additionalProperties`, {
        ...place,
        isResource: false,
        cardinality: place.cardinality * size,
      })
    }
    if (node.items !== undefined) {
      const isMapList = node['x-kubernetes-list-type'] === 'map'
      this.visit(node.items, `${path}.items`, {
        isResource: false,
        cardinality: place.cardinality * size,
        uncorrelated: place.uncorrelated ?? (isMapList ? undefined : path),
      })
    }
    this.#open.delete(node)
  }

  #rule(rule: ValidationRule, declaration: Declaration, path: string, place: Place): void {
    const invalid = (field: string, detail: string): void => {
      this.errors.push({ ...fieldErrors.invalid(`${path}.${field}`, rule.rule, detail), shown: formatRule(rule) })
    }
    const unusedOldSelf = (value: boolean): void => {
      const detail = 'may not be set if oldSelf is not used in rule'
      this.errors.push(fieldErrors.invalid(`${path}.optionalOldSelf`, value, detail))
    }
    const variables = new Map([
      ['self', declaration],
      ['oldSelf', declaration],
    ])
    try {
      const { program, isTransition } = compileRule(rule, declaration)
      if (program.type.kind !== 'bool') return invalid('rule', 'cel expression must evaluate to a bool')
      if (isTransition && place.uncorrelated !== undefined) {
        const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated}`
        this.errors.push(fieldErrors.invalid(`${path}.rule`, rule.rule, detail))
      } else if (rule.optionalOldSelf !== undefined && !isTransition) {
        unusedOldSelf(rule.optionalOldSelf)
      }
      this.#cost(estimateCost(program.checked, variables) * place.cardinality, `${path}.rule`, 'estimated rule cost')
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      invalid('rule', error.problem)
      // A rule that does not compile uses nothing.
      if (rule.optionalOldSelf !== undefined) unusedOldSelf(rule.optionalOldSelf)
      return
    }
    if (!rule.messageExpression) return
    try {
      const program = compile(rule.messageExpression, ruleEnvironment(rule, declaration))
      if (formatType(program.type) !== 'string')
        return invalid('messageExpression', 'messageExpression must evaluate to a string')
      // Unlike rules, messages are counted once, regardless of the cardinality.
      const cost = estimateCost(program.checked, variables)
      this.#cost(cost, `${path}.messageExpression`, 'estimated messageExpression cost')
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      const stage = error.code === 'CelProgram' ? 'instantiation' : 'compilation'
      invalid('messageExpression', `messageExpression ${stage} failed: ${error.message}`)
    }
  }

  #cost(cost: number, path: string, name: string): void {
    this.#costs.push({ path, cost })
    if (cost <= this.#limit) return
    this.hasExpensiveRule = true
    this.errors.push(fieldErrors.forbidden(path, costMessage(name, cost, ruleCostLimit)))
  }

  /** Returns the errors of the total cost. */
  totals(path: string): FieldError[] {
    const total = this.#costs.reduce((sum, { cost }) => sum + cost, 0)
    if (total <= schemaCostLimit) return []
    const expensive = this.#costs
      .filter(({ cost }) => cost >= schemaCostLimit / 100)
      .sort((a, b) => b.cost - a.cost)
      .slice(0, maxReportedRules)
    const contributed = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
    return [
      ...expensive.map((entry) => fieldErrors.forbidden(entry.path, contributed)),
      fieldErrors.forbidden(
        path,
        costMessage(
          'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema',
          total,
          schemaCostLimit,
        ),
      ),
    ]
  }
}

function costMessage(name: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`
  return `${name} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}
