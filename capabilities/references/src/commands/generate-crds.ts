// `fairlead generate crds`: writes the CRDs of a service, the references manifest, the rights and the graph of kinds.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CommandContext } from '@fairlead/controller/command'
import { JsonSyntaxError, YamlSyntaxError, parseJson, parseYaml, stringifyJson, stringifyYaml } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { CommandError, exitCode, usageError } from '@fairlead/offline'
import { readGeneratorConfig } from '../generator/generator-config.ts'
import { generate } from '../generator/generate.ts'
import type { Generated } from '../generator/generate.ts'
import { GeneratorError } from '../generator/generator-error.ts'
import type { ReferenceNaming } from '../generator/names.ts'
import { readSmithyModel } from '../generator/smithy-model.ts'

/** Options of the command. */
export interface GenerateCrdsOptions {
  readonly service: string | undefined
  readonly config: string | undefined
  readonly model: string | undefined
  readonly out: string
  readonly resource: readonly string[]
  readonly refNaming: string
  readonly bothSet: string
}

/** Writes the files and prints a line for each kind. */
export async function run({ options, out, err }: CommandContext<GenerateCrdsOptions, object>): Promise<number> {
  const { resource } = options
  const service = given(options.service, '--service sagemaker')
  if (!/^[a-z][a-z0-9-]*$/.test(service))
    throw usageError(`--service ${service}: must be the package name of a service, such as sagemaker`)
  const model = document(given(options.model, '--model sagemaker.json'), parseJson)
  const config = document(given(options.config, '--config generator.yaml'), parseYaml)
  const made = generated(() =>
    generate({
      model: readSmithyModel(model),
      config: readGeneratorConfig(config),
      service,
      naming: options.refNaming as ReferenceNaming,
      bothSet: options.bothSet === 'reject' ? 'reject' : 'prefer_external',
      ...(resource.length === 0 ? {} : { resources: resource }),
    }),
  )
  for (const name of made.unused)
    err(`generator.yaml: resources.${name}: the model has no operation that creates it; it was left out`)
  for (const cycle of made.cycles)
    err(`Warning: ${cycle.join(', ')} refer to each other; set wait_for: Value on one of the references`)
  for (const [path, text] of files(made)) {
    const target = join(options.out, path)
    mkdirSync(join(target, '..'), { recursive: true })
    if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
  }
  for (const { kind, plural, references } of made.kinds)
    out(`${plural}.${made.group}  ${kind}  ${count(references.length)}`)
  return exitCode.ok
}

function given(value: string | undefined, example: string): string {
  if (value === undefined) throw usageError(`Name it: ${example}`)
  return value
}

function count(references: number): string {
  return references === 1 ? '1 reference' : `${references} references`
}

function document(path: string, parse: (text: string) => JsonValue): JsonValue {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw usageError(`${path} cannot be read: ${(error as Error).message}`)
  }
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof YamlSyntaxError || error instanceof JsonSyntaxError)
      throw new CommandError(`${path}: ${error.message}`)
    throw error
  }
}

function generated(make: () => Generated): Generated {
  try {
    return make()
  } catch (error) {
    if (error instanceof GeneratorError) throw new CommandError(error.message)
    throw error
  }
}

/** Returns the files of a service, path to content. */
function files({ group, kinds, rbac }: Generated): readonly (readonly [string, string])[] {
  const table = Object.fromEntries(
    kinds.filter(({ references }) => references.length > 0).map(({ kind, references }) => [kind, references]),
  )
  const edges = kinds.flatMap(({ kind, references }) =>
    references.map((row) => ({ from: kind, to: row.kind, field: row.fieldPath })),
  )
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: `fairlead:${group}` },
    rules: [
      {
        apiGroups: [group],
        resources: kinds.map(({ plural }) => plural),
        verbs: ['get', 'list', 'watch', 'patch', 'update'],
      },
      {
        apiGroups: [group],
        resources: kinds.map(({ plural }) => `${plural}/status`),
        verbs: ['get', 'patch', 'update'],
      },
      ...rbac,
    ],
  }
  return [
    ...kinds.map(({ crd, plural }) => [`crds/${group}_${plural}.yaml`, stringifyYaml(crd)] as const),
    ['references.json', `${stringifyJson({ kinds: table } as unknown as JsonValue)}\n`],
    ['rbac.yaml', stringifyYaml(role as unknown as JsonValue)],
    ['graph.mmd', ['graph LR', ...edges.map(({ from, to, field }) => `  ${from} -->|${field}| ${to}`), ''].join('\n')],
    [
      'graph.dot',
      [
        'digraph references {',
        ...edges.map(({ from, to, field }) => `  ${from} -> ${to} [label="${field}"]`),
        '}',
        '',
      ].join('\n'),
    ],
    ['graph.json', `${stringifyJson({ edges } as unknown as JsonValue)}\n`],
  ]
}
