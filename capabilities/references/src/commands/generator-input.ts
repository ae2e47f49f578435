// Input of both commands of the generator: the model, the configuration, and definitions of other kinds.
import { readFileSync } from 'node:fs'
import type { CommandContext } from '@fairlead/controller/command'
import { JsonSyntaxError, YamlSyntaxError, parseJson, parseYaml } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { CommandError, readManifests, usageError } from '@fairlead/offline'
import type { BothSet } from '../engine/reference-table.ts'
import { readGeneratorConfig } from '../generator/generator-config.ts'
import { generate } from '../generator/generate.ts'
import type { Generated } from '../generator/generate.ts'
import { GeneratorError } from '../generator/generator-error.ts'
import type { ReferenceNaming } from '../generator/names.ts'
import { readSmithyModel } from '../generator/smithy-model.ts'

/** Options that say what is generated. */
export interface GeneratorOptions {
  readonly service: string | undefined
  readonly config: string | undefined
  readonly model: string | undefined
  readonly out: string
  readonly resource: readonly string[]
  readonly referents: readonly string[]
  readonly refNaming: string | undefined
  readonly bothSet: string | undefined
}

/**
 * Generates what the options say, and prints warnings.
 * @throws CommandError
 */
export async function generatedBy({
  options,
  stdin,
  err,
}: Pick<CommandContext<GeneratorOptions, object>, 'options' | 'stdin' | 'err'>): Promise<Generated> {
  const { resource } = options
  const service = given(options.service, '--service sagemaker')
  if (!/^[a-z][a-z0-9-]*$/.test(service))
    throw usageError(`--service ${service}: must be the package name of a service, such as sagemaker`)
  const model = document(given(options.model, '--model sagemaker.json'), parseJson)
  const config = document(given(options.config, '--config generator.yaml'), parseYaml)
  const referents = options.referents.length === 0 ? [] : await readManifests(options.referents, { stdin })
  const made = generated(() =>
    generate({
      model: readSmithyModel(model),
      config: readGeneratorConfig(config),
      service,
      referents: referents.map(({ object }) => object),
      ...(options.refNaming === undefined ? {} : { naming: options.refNaming as ReferenceNaming }),
      ...(options.bothSet === undefined ? {} : { bothSet: options.bothSet as BothSet }),
      ...(resource.length === 0 ? {} : { resources: resource }),
    }),
  )
  for (const name of made.unused)
    err(`generator.yaml: resources.${name}: the model has no operation that creates it; it was left out`)
  for (const cycle of made.cycles)
    err(`Warning: ${cycle.join(', ')} refer to each other; set wait_for: Value on one of the references`)
  return made
}

function given(value: string | undefined, example: string): string {
  if (value === undefined) throw usageError(`Name it: ${example}`)
  return value
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
