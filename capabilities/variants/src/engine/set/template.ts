// Renders the template of a target for one downstream: the spec of its variant.
import type { Expressions, TemplateVariables } from './expression.ts'
import type { Downstream, MapExpression, Template, TemplateFunction, VariantSpec } from './spec.ts'

/** A template with its place in the set. */
export interface PlacedTemplate {
  readonly template: Template
  /** Path of the template: `spec.targets[0].template`. */
  readonly path: string
}

/** Returns the repository of a downstream. Throws ExpressionError. */
export function downstreamRepo(
  { template, path }: PlacedTemplate,
  variables: TemplateVariables,
  expressions: Expressions,
): string {
  const { repo, repoExpr } = template.downstream ?? {}
  if (repoExpr !== undefined) return expressions.string(`${path}.downstream.repoExpr`, repoExpr, variables)
  return repo ?? variables.repoDefault
}

/** Returns the package of a downstream. Throws ExpressionError. */
export function downstreamPackage(
  { template, path }: PlacedTemplate,
  variables: TemplateVariables,
  expressions: Expressions,
): string {
  const { package: name, packageExpr } = template.downstream ?? {}
  if (packageExpr !== undefined) return expressions.string(`${path}.downstream.packageExpr`, packageExpr, variables)
  return name ?? variables.packageDefault
}

/** Returns the spec of the variant of a downstream. Throws ExpressionError. */
export function renderTemplate(
  { template, path }: PlacedTemplate,
  variables: TemplateVariables,
  expressions: Expressions,
  { upstream, downstream }: { readonly upstream: VariantSpec['upstream']; readonly downstream: Downstream },
): VariantSpec {
  const at = new Renderer(variables, expressions)
  const { adoptionPolicy, deletionPolicy, onConflict, onProposed } = template
  const labels = at.map(template.labels, template.labelExprs, `${path}.labelExprs`)
  const annotations = at.map(template.annotations, template.annotationExprs, `${path}.annotationExprs`)
  const packageContext = at.packageContext(template.packageContext, `${path}.packageContext`)
  const injectors = (template.injectors ?? []).map(({ nameExpr, name = '', ...kind }, index) => ({
    ...kind,
    name: nameExpr === undefined ? name : at.string(`${path}.injectors[${index}].nameExpr`, nameExpr),
  }))
  const pipeline = at.pipeline(template.pipeline, `${path}.pipeline`)
  return {
    upstream,
    downstream,
    ...(adoptionPolicy !== undefined && { adoptionPolicy }),
    ...(deletionPolicy !== undefined && { deletionPolicy }),
    ...(onConflict !== undefined && { onConflict }),
    ...(onProposed !== undefined && { onProposed }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(packageContext && { packageContext }),
    ...(injectors.length > 0 && { injectors }),
    ...(pipeline && { pipeline }),
  }
}

class Renderer {
  readonly #variables: TemplateVariables
  readonly #expressions: Expressions

  constructor(variables: TemplateVariables, expressions: Expressions) {
    this.#variables = variables
    this.#expressions = expressions
  }

  string(field: string, expression: string): string {
    return this.#expressions.string(field, expression, this.#variables)
  }

  /** Returns a map with the keys of its expressions; undefined when it is empty. */
  map(
    literal: Readonly<Record<string, string>> | undefined,
    entries: readonly MapExpression[] | undefined,
    path: string,
  ): Readonly<Record<string, string>> | undefined {
    // A key named __proto__ is a key, too.
    const map = new Map(Object.entries(literal ?? {}))
    for (const [index, { key, keyExpr, value, valueExpr }] of (entries ?? []).entries()) {
      const at = `${path}[${index}]`
      const name = keyExpr === undefined ? (key ?? '') : this.string(`${at}.keyExpr`, keyExpr)
      map.set(name, valueExpr === undefined ? (value ?? '') : this.string(`${at}.valueExpr`, valueExpr))
    }
    return map.size === 0 ? undefined : Object.fromEntries(map)
  }

  packageContext(context: Template['packageContext'], path: string): VariantSpec['packageContext'] {
    const data = this.map(context?.data, context?.dataExprs, `${path}.dataExprs`)
    const more = (context?.removeKeyExprs ?? []).map((expression, index) =>
      this.string(`${path}.removeKeyExprs[${index}]`, expression),
    )
    const removeKeys = [...new Set([...(context?.removeKeys ?? []), ...more])].toSorted()
    if (data === undefined && removeKeys.length === 0) return undefined
    return { ...(data && { data }), ...(removeKeys.length > 0 && { removeKeys }) }
  }

  pipeline(pipeline: Template['pipeline'], path: string): VariantSpec['pipeline'] {
    if (pipeline === undefined) return undefined
    const { mode } = pipeline
    const mutators = this.#functions(pipeline.mutators, `${path}.mutators`)
    const validators = this.#functions(pipeline.validators, `${path}.validators`)
    if (mutators === undefined && validators === undefined) return undefined
    return { ...(mode !== undefined && { mode }), ...(mutators && { mutators }), ...(validators && { validators }) }
  }

  #functions(
    functions: readonly TemplateFunction[] | undefined,
    path: string,
  ): readonly Omit<TemplateFunction, 'configMapExprs'>[] | undefined {
    if (functions === undefined || functions.length === 0) return undefined
    return functions.map(({ configMapExprs, configMap: literal, ...others }, index) => {
      const configMap = this.map(literal, configMapExprs, `${path}[${index}].configMapExprs`)
      return { ...others, ...(configMap && { configMap }) }
    })
  }
}
