// docs/reference/{cli,crds,metrics}.md: from the tree of commands, the CRDs, and the registries of managers that run.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiServer } from '@fairlead/apiserver'
import { createLogger, installDefinitions, Manager } from '@fairlead/controller'
import type { Capability } from '@fairlead/controller'
import { isJsonObject, parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { program } from 'fairlead'
import type { GeneratedFile } from '../generate/generated-file.ts'
import { block, code, page, prose, table } from './markdown.ts'

type Command = Awaited<ReturnType<typeof program>>

/** Every command with its flags. */
export function cliPage(root: Command): GeneratedFile {
  const sections = commandsOf(root).flatMap(({ path, command }) => commandSection(path, command))
  const text = page(
    'Command line',
    'the tree of commands',
    `${root.description()} Exit codes: 0, 1 error, 2 usage, 3 not ready.`,
    ...sections,
  )
  return { name: 'cli.md', text }
}

function commandsOf(
  command: Command,
  path: readonly string[] = [command.name()],
): { path: string; command: Command }[] {
  const children = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help')
  return [
    ...(path.length === 1 ? [] : [{ path: path.join(' '), command }]),
    ...children.flatMap((child) => commandsOf(child, [...path, child.name()])),
  ]
}

function commandSection(path: string, command: Command): string[] {
  const { registeredArguments, options } = command
  const names = registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`
    return argument.required ? `<${name}>` : `[${name}]`
  })
  const group = command.commands.length > 0
  return [
    `${path.split(' ').length === 2 ? '##' : '###'} ${path}`,
    `${sentence(command.description())}`,
    ...(group ? [] : [block('sh', [path, ...(options.length > 0 ? ['[flags]'] : []), ...names].join(' '))]),
    ...(registeredArguments.length === 0 || group
      ? []
      : [
          table(
            ['argument', ''],
            registeredArguments.map((argument) => [code(argument.name()), prose(argument.description)]),
          ),
        ]),
    ...(options.length === 0
      ? []
      : [
          table(
            ['flag', '', 'default'],
            options.map(({ flags, description, defaultValue }) => [
              code(flags),
              prose(description),
              typeof defaultValue === 'string' ? code(defaultValue) : '',
            ]),
          ),
        ]),
  ]
}

function sentence(text: string): string {
  const prosaic = prose(text)
  return `${prosaic.slice(0, 1).toUpperCase()}${prosaic.slice(1)}.`
}

/** Every field of every kind of every capability. */
export function crdsPage(capabilities: string): GeneratedFile {
  const sections = readdirSync(capabilities)
    .toSorted()
    .flatMap((name) => {
      const folder = join(capabilities, name, 'crds')
      if (!existsSync(folder)) return []
      const definitions = readdirSync(folder)
        .filter((file) => file.endsWith('.yaml'))
        .toSorted()
        .flatMap((file) => parseYamlDocuments(readFileSync(join(folder, file), 'utf8')))
        .filter(isJsonObject)
      return [`## ${name}`, ...definitions.flatMap(kindSections)]
    })
  const intro = 'The fields of all kinds. `kubectl explain KIND` says the same of a server that runs.'
  return { name: 'crds.md', text: page('Kinds', 'capabilities/*/crds/*.yaml', intro, ...sections) }
}

function kindSections(definition: JsonObject): string[] {
  const spec = object(definition['spec'])
  const names = object(spec['names'])
  const group = String(spec['group'])
  return list(spec['versions']).flatMap((entry) => {
    const version = object(entry)
    const schema = object(object(version['schema'])['openAPIV3Schema'])
    const short = list(names['shortNames']).map(String)
    const rows = [...fieldRows(schema, '')].filter(([path]) => !/^`(apiVersion|kind|metadata)`$/.test(path!))
    return [
      `### ${String(names['kind'])}`,
      `\`${group}/${String(version['name'])}\`, ${String(spec['scope']).toLowerCase()}${short.length === 0 ? '' : `, short ${short.map(code).join(', ')}`}${version['served'] === false ? ', not served' : ''}. ${prose(String(schema['description'] ?? ''))}`.trim(),
      ...(rows.length === 0 ? [] : [table(['field', 'type', ''], rows)]),
    ]
  })
}

function* fieldRows(schema: JsonObject, path: string): Generator<string[]> {
  const required = new Set(list(schema['required']))
  for (const [name, value] of Object.entries(object(schema['properties']))) {
    const field = object(value)
    const here = path === '' ? name : `${path}.${name}`
    yield [
      code(here),
      typeOf(field),
      `${required.has(name) ? '**Required.** ' : ''}${prose(String(field['description'] ?? ''))}${factsOf(field)}`,
    ]
    yield* fieldRows(innerOf(field), `${here}${suffixOf(field)}`)
  }
}

function innerOf(field: JsonObject): JsonObject {
  const items = object(field['items'])
  const values = object(field['additionalProperties'])
  return field['type'] === 'array'
    ? items['type'] === 'array'
      ? object(items['items'])
      : items
    : Object.keys(values).length > 0
      ? values
      : field
}

function suffixOf(field: JsonObject): string {
  return field['type'] === 'array' ? '[]' : isJsonObject(field['additionalProperties']) ? '.*' : ''
}

function typeOf(field: JsonObject): string {
  if (field['x-kubernetes-int-or-string'] === true) return 'integer or string'
  if (field['type'] === 'array') return `list of ${typeOf(object(field['items']))}`
  if (isJsonObject(field['additionalProperties'])) return `map of ${typeOf(field['additionalProperties'])}`
  return String(field['type'] ?? 'any')
}

function factsOf(field: JsonObject): string {
  const facts = [
    ...(Array.isArray(field['enum'])
      ? [`One of ${field['enum'].map((value) => code(String(value))).join(', ')}.`]
      : []),
    ...(field['default'] === undefined ? [] : [`Default ${code(JSON.stringify(field['default']))}.`]),
  ]
  return facts.length === 0 ? '' : ` ${facts.join(' ')}`
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

interface Metric {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly labelNames: readonly string[]
}

/** What a manager measures with each capability set up. */
export async function metricsPage(capabilities: readonly Capability[]): Promise<GeneratedFile> {
  const common = await metricsOf(undefined)
  const known = new Set(common.map(({ name }) => name))
  const sections: string[] = []
  for (const capability of capabilities) {
    const own = (await metricsOf(capability)).filter(({ name }) => !known.has(name))
    if (own.length > 0) sections.push(`## ${capability.name}`, metricTable(own))
  }
  const intro =
    'Every manager serves these at `/metrics`, in the names that dashboards of controller-runtime and client-go know; each capability adds its own.'
  return {
    name: 'metrics.md',
    text: page('Metrics', 'the registries of managers', intro, '## Every controller', metricTable(common), ...sections),
  }
}

function metricTable(metrics: readonly Metric[]): string {
  return table(
    ['metric', 'type', 'labels', ''],
    metrics.map(({ name, type, labelNames, help }) => [code(name), type, labelNames.map(code).join(', '), prose(help)]),
  )
}

async function metricsOf(capability: Capability | undefined): Promise<Metric[]> {
  await using server = await ApiServer.start()
  const client = server.client()
  const stop = new AbortController()
  if (capability !== undefined) await installDefinitions(client, capability.crds)
  await using manager = await Manager.start({
    client,
    logger: await createLogger({ level: 'error', write: () => undefined }),
    setup: async (started) => {
      await capability?.setup(started, { resolve: new Map(), signal: stop.signal })
    },
  })
  const metrics = manager.metrics.registry.getMetricsAsArray() as unknown as (Metric & {
    readonly constructor: { readonly name: string }
  })[]
  stop.abort()
  return metrics
    .map(({ name, help, labelNames, constructor }) => ({
      name,
      help,
      labelNames,
      type: constructor.name.toLowerCase(),
    }))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
}
