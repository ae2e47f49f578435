// Checks of `spec.targets` beyond what a schema can say, and for manifests that no server has seen. Errors are grouped
// by target, because one bad target blocks no other.
import { compileError } from './expression.ts'
import type { MapExpression, Target, Template, TemplateFunction } from './spec.ts'

/** An error of one field. */
export interface SpecError {
  /** Index of the target. */
  readonly target: number
  /** `spec.targets[0].template.labelExprs[0].key`. */
  readonly field: string
  readonly detail: string
}

/** Formats an error with its field. */
export function formatSpecError({ field, detail }: SpecError): string {
  return `${field}: ${detail}`
}

/** Returns the errors of all targets, in their order. */
export function targetErrors(targets: readonly Target[]): readonly SpecError[] {
  if (targets.length === 0) return [{ target: 0, field: 'spec.targets', detail: 'must have at least one target' }]
  return targets.flatMap((target, index) => {
    const check = new Check(index)
    check.target(target, `spec.targets[${index}]`)
    return check.errors
  })
}

const selectors = ['repositories', 'repositorySelector', 'objectSelector'] as const

class Check {
  readonly errors: SpecError[] = []
  readonly #target: number

  constructor(target: number) {
    this.#target = target
  }

  target(target: Target, path: string): void {
    if (selectors.filter((name) => target[name] !== undefined).length !== 1)
      this.#add(path, `exactly one of ${selectors.join(', ')} must be set`)
    this.#repositories(target, path)
    if (target.packageNames !== undefined && target.repositorySelector === undefined)
      this.#add(`${path}.packageNames`, 'is only allowed beside repositorySelector')
    this.#packageNames(target.packageNames, `${path}.packageNames`)
    for (const field of ['apiVersion', 'kind'] as const)
      if (target.objectSelector !== undefined && !target.objectSelector[field])
        this.#add(`${path}.objectSelector.${field}`, 'must be set')
    if (target.template !== undefined) this.#template(target.template, `${path}.template`)
  }

  #add(field: string, detail: string): void {
    this.errors.push({ target: this.#target, field, detail })
  }

  #repositories({ repositories }: Target, path: string): void {
    if (repositories?.length === 0) this.#add(`${path}.repositories`, 'must not be empty')
    for (const [index, { name, packageNames }] of (repositories ?? []).entries()) {
      const at = `${path}.repositories[${index}]`
      if (!name) this.#add(`${at}.name`, 'must be set')
      this.#packageNames(packageNames, `${at}.packageNames`)
    }
  }

  #packageNames(names: readonly string[] | undefined, path: string): void {
    if (names?.length === 0) this.#add(path, 'must not be empty')
    for (const [index, name] of (names ?? []).entries()) if (!name) this.#add(`${path}[${index}]`, 'must not be empty')
  }

  #template(template: Template, path: string): void {
    const { downstream = {}, packageContext = {}, pipeline = {} } = template
    this.#only(downstream, 'repo', 'repoExpr', `${path}.downstream`)
    this.#only(downstream, 'package', 'packageExpr', `${path}.downstream`)
    this.#expression(downstream.repoExpr, `${path}.downstream.repoExpr`, false)
    this.#expression(downstream.packageExpr, `${path}.downstream.packageExpr`)
    this.#policy(template.adoptionPolicy, ['adoptNone', 'adoptExisting'], `${path}.adoptionPolicy`)
    this.#policy(template.deletionPolicy, ['delete', 'orphan'], `${path}.deletionPolicy`)
    this.#map(template.labelExprs, `${path}.labelExprs`)
    this.#map(template.annotationExprs, `${path}.annotationExprs`)
    this.#reserved(Object.keys(packageContext.data ?? {}), `${path}.packageContext.data`)
    this.#reserved(packageContext.removeKeys ?? [], `${path}.packageContext.removeKeys`)
    this.#map(packageContext.dataExprs, `${path}.packageContext.dataExprs`)
    for (const [index, expression] of (packageContext.removeKeyExprs ?? []).entries())
      this.#expression(expression, `${path}.packageContext.removeKeyExprs[${index}]`)
    for (const [index, injector] of (template.injectors ?? []).entries()) {
      const at = `${path}.injectors[${index}]`
      if (Boolean(injector.name) === Boolean(injector.nameExpr))
        this.#add(at, 'exactly one of name, nameExpr must be set')
      this.#expression(injector.nameExpr, `${at}.nameExpr`)
    }
    this.#functions(pipeline.mutators, `${path}.pipeline.mutators`)
    this.#functions(pipeline.validators, `${path}.pipeline.validators`)
  }

  #functions(functions: readonly TemplateFunction[] | undefined, path: string): void {
    for (const [index, { name, image, configMapExprs }] of (functions ?? []).entries()) {
      const at = `${path}[${index}]`
      if (name?.includes('.') === true) this.#add(`${at}.name`, 'must not contain a dot')
      if (!image) this.#add(`${at}.image`, 'must be set')
      this.#map(configMapExprs, `${at}.configMapExprs`)
    }
  }

  #map(entries: readonly MapExpression[] | undefined, path: string): void {
    for (const [index, entry] of (entries ?? []).entries()) {
      const at = `${path}[${index}]`
      if ((entry.key !== undefined) === (entry.keyExpr !== undefined))
        this.#add(at, 'exactly one of key, keyExpr must be set')
      this.#only(entry, 'value', 'valueExpr', at)
      this.#expression(entry.keyExpr, `${at}.keyExpr`)
      this.#expression(entry.valueExpr, `${at}.valueExpr`)
    }
  }

  #only<T extends object>(object: T, one: keyof T & string, other: keyof T & string, path: string): void {
    if (object[one] !== undefined && object[other] !== undefined)
      this.#add(path, `only one of ${one}, ${other} may be set`)
  }

  #policy(value: string | undefined, allowed: readonly string[], path: string): void {
    if (value !== undefined && !allowed.includes(value))
      this.#add(path, `${JSON.stringify(value)} is not supported; use ${allowed.join(' or ')}`)
  }

  #reserved(keys: readonly string[], path: string): void {
    for (const key of keys)
      if (key === 'name' || key === 'package-path') this.#add(path, `must not contain the key ${key}`)
  }

  #expression(expression: string | undefined, path: string, hasRepository = true): void {
    const error = expression === undefined ? undefined : compileError(expression, hasRepository)
    if (error !== undefined) this.#add(path, error)
  }
}
