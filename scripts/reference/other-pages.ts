// docs/reference/{cli,crds}.md: from the tree of commands, and the CRDs.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
    `${root.summary()}. Exit codes: 0, 1 error, 2 usage, 3 not ready; \`fairlead up\` ends with 130 when a second Ctrl-C cuts its stopping short.`,
    'Environment: `KUBECONFIG` as for kubectl; `NO_COLOR`; `FAIRLEAD_LOG_LEVEL` is `debug`, `info`, `warn` (default) or `error`; `FAIRLEAD_DEBUG=1` shows where an error comes from.',
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
  const usage = [path, ...(options.length > 0 ? ['[flags]'] : []), ...names].join(' ')
  return [
    `${path.split(' ').length === 2 ? '##' : '###'} ${path}`,
    `${sentence(command.summary())}`,
    ...(group ? [] : [block('sh', [usage, ...examplesOf(command)].join('\n'))]),
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

/** The examples at the beginning of its help. */
function examplesOf(command: Command): string[] {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp()
  const examples = /^.*\n\nExamples:\n((?:  .*\n)+)/.exec(text)?.[1]
  return examples === undefined
    ? []
    : [
        '',
        '# for example',
        ...examples
          .trimEnd()
          .split('\n')
          .map((line) => line.trim()),
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
