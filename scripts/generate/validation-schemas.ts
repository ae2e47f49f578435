// The schemas by which kubeconform checks resources: those of Kubernetes' own kinds without what only servers need.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SchemaFacts } from './builtin-tables.ts'
import { headerOf, noticeOf } from './builtin-tables.ts'
import type { GeneratedFile } from './generated-file.ts'

interface Schema {
  readonly type?: string
  readonly format?: string
  readonly $ref?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly oneOf?: readonly Schema[]
  readonly enum?: readonly string[]
}

/** The modules of `capabilities/packages/src/functions/generated`, from the folder that holds `schemas.json`. */
export function validationSchemas(facts: string): GeneratedFile[] {
  const { source, kinds, schemas } = JSON.parse(readFileSync(join(facts, 'schemas.json'), 'utf8')) as SchemaFacts & {
    readonly schemas: Readonly<Record<string, Schema>>
  }
  const roots = Object.entries(kinds).flatMap(([groupVersion, byKind]) =>
    Object.entries(byKind).map(([kind, type]): [string, string] => [`${groupVersion}/${kind}`, shortName(type)]),
  )
  const types = Object.entries(schemas).map(([name, schema]) => [shortName(name), compact(schema)])
  const json = JSON.stringify({
    kinds: Object.fromEntries(roots) as unknown,
    types: Object.fromEntries(types) as unknown,
  })
  if (/`|\$\{/.test(json)) throw new Error('the schemas hold text that a template literal cannot carry')
  return [
    { name: 'NOTICE', text: noticeOf(source, 'kinds and their schemas') },
    {
      name: 'validation-schemas.ts',
      text: `${headerOf(source)}\n/** JSON: kinds (groupVersion/kind -> type), types (type -> schema; \`$ref\` holds a type). */\nexport const validationSchemas: string = String.raw\`${json}\`\n`,
    },
  ]
}

function compact({
  type,
  format,
  $ref,
  required,
  properties,
  items,
  additionalProperties,
  oneOf,
  ...rest
}: Schema): Schema {
  return {
    ...(type !== undefined && { type }),
    ...(format === 'int-or-string' && { format }),
    ...($ref !== undefined && { $ref: shortName($ref) }),
    ...(required !== undefined && { required }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, compact(schema)])),
    }),
    ...(items !== undefined && { items: compact(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'boolean' ? additionalProperties : compact(additionalProperties),
    }),
    ...(oneOf !== undefined && { oneOf: oneOf.map((each) => compact(each)) }),
    ...(rest.enum !== undefined && { enum: rest.enum }),
  }
}

/** `io.k8s.api.apps.v1.Deployment` -> `apps.v1.Deployment`. */
function shortName(name: string): string {
  return name
    .replace(/^io\.k8s\.api\./, '')
    .replace(/^io\.k8s\.(?:apiextensions-apiserver|kube-aggregator|apimachinery)\.pkg\.(?:apis\.)?/, '')
}
