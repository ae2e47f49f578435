// TypeScript types of custom resources, from the structural schemas of their CRDs. Descriptions become doc comments,
// enums unions of literals, `required` (or a default, which the server fills in) decides between `field` and `field?`.

/** The part of a structural schema that types are made of. */
export interface StructuralSchema {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly nullable?: boolean
  readonly default?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly additionalProperties?: StructuralSchema | boolean
  readonly items?: StructuralSchema
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
}

/** The part of a CRD that types are made of. */
export interface CustomResourceDefinition {
  readonly kind: string
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly {
      readonly name: string
      readonly storage: boolean
      readonly schema?: { readonly openAPIV3Schema?: StructuralSchema }
    }[]
  }
}

/**
 * Declarations for every kind: `<Kind>`, `<Kind>Spec`, `<Kind>Status`, and one interface per nested object, named after
 * its path (`<Kind>SpecInputs`). The storage version has the plain name; others carry their version (`WidgetV1alpha1`).
 */
export function crdTypes(definitions: readonly CustomResourceDefinition[]): string[] {
  return definitions.flatMap(({ spec }) =>
    spec.versions.flatMap((version) => {
      const schema = version.schema?.openAPIV3Schema
      if (schema === undefined) return []
      const name = version.storage ? spec.names.kind : spec.names.kind + pascal(version.name)
      return new Emitter().kind(name, `${spec.group}/${version.name}`, spec.names.kind, schema)
    }),
  )
}

class Emitter {
  readonly #declarations: string[] = []
  readonly #names = new Set<string>()

  kind(name: string, apiVersion: string, kind: string, schema: StructuralSchema): string[] {
    const fields = Object.entries(schema.properties ?? {}).filter(
      ([field]) => !['apiVersion', 'kind', 'metadata'].includes(field),
    )
    const own = fields.map(([field, child]) => this.#field(name, field, child, schema.required ?? []))
    return [
      [
        '',
        ...comment(schema.description, ''),
        `export interface ${name} {`,
        `  readonly apiVersion: '${apiVersion}'`,
        `  readonly kind: '${kind}'`,
        '  readonly metadata: ObjectMeta',
        ...own,
        '}',
      ].join('\n'),
      ...this.#declarations,
    ]
  }

  #field(owner: string, field: string, schema: StructuralSchema, required: readonly string[]): string {
    const key = /^[A-Za-z_$][\w$]*$/.test(field) ? field : JSON.stringify(field)
    const present = required.includes(field) || schema.default !== undefined
    return [
      ...comment(schema.description, '  '),
      `  readonly ${key}${present ? '' : '?'}: ${this.#type(owner + pascal(field), schema)}`,
    ].join('\n')
  }

  #type(name: string, schema: StructuralSchema): string {
    const type = this.#bareType(name, schema)
    return schema.nullable === true ? `${type} | null` : type
  }

  #bareType(name: string, schema: StructuralSchema): string {
    if (schema['x-kubernetes-int-or-string'] === true) return 'number | string'
    if (schema.enum !== undefined)
      return schema.enum
        .map((value) => (typeof value === 'string' && !value.includes("'") ? `'${value}'` : JSON.stringify(value)))
        .join(' | ')
    switch (schema.type) {
      case 'string':
        return 'string'
      case 'integer':
      case 'number':
        return 'number'
      case 'boolean':
        return 'boolean'
      case 'array': {
        const item = this.#type(singular(name), schema.items ?? {})
        return item.includes(' | ') ? `readonly (${item})[]` : `readonly ${item}[]`
      }
      case 'object':
        return this.#object(name, schema)
      default:
        return 'unknown'
    }
  }

  #object(name: string, schema: StructuralSchema): string {
    if (schema['x-kubernetes-embedded-resource'] === true) return 'KubeObject'
    if (schema.properties !== undefined) return this.#interface(name, schema, schema.properties)
    if (typeof schema.additionalProperties === 'object')
      return `Readonly<Record<string, ${this.#type(singular(name), schema.additionalProperties)}>>`
    return 'Readonly<Record<string, unknown>>'
  }

  #interface(name: string, schema: StructuralSchema, properties: Readonly<Record<string, StructuralSchema>>): string {
    let unique = name
    for (let index = 2; this.#names.has(unique); index++) unique = name + String(index)
    this.#names.add(unique)
    const fields = Object.entries(properties).map(([field, child]) =>
      this.#field(unique, field, child, schema.required ?? []),
    )
    const open = schema['x-kubernetes-preserve-unknown-fields'] === true ? ['  readonly [field: string]: unknown'] : []
    this.#declarations.push(
      ['', ...comment(schema.description, ''), `export interface ${unique} {`, ...fields, ...open, '}'].join('\n'),
    )
    return unique
  }
}

function comment(description: string | undefined, indent: string): string[] {
  if (description === undefined || description.trim() === '') return []
  const text = description.trim().replaceAll('*/', '*\\/').split(/\n/)
  const [first = ''] = text
  if (text.length === 1) return [`${indent}/** ${first} */`]
  return [`${indent}/**`, ...text.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`]
}

function pascal(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')
}

/** The name of one element: `Ports` -> `Port`, `Policies` -> `Policy`, else `<Name>Item`. */
function singular(name: string): string {
  if (name.endsWith('ies')) return `${name.slice(0, -3)}y`
  if (/(s|x|z|ch|sh)es$/.test(name)) return name.slice(0, -2)
  if (name.endsWith('s') && !name.endsWith('ss')) return name.slice(0, -1)
  return `${name}Item`
}
