// Examples of `fairlead up --example NAME`: `examples/<name>/example.yaml` lists manifests in order, processes, and
// commands to try.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asObject, parseYaml, parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { CommandError, usageError } from '@fairlead/offline/command-error'
import { exampleNames, examplesFolder } from './example-names.ts'

/**
 * A process of an example: a module that listens on the port named by `PORT` and prints a line that ends in `on port
 * <port>`.
 */
export interface ExampleProcess {
  readonly name: string
  readonly module: string
  /** The host name that hooks use; it resolves to the process. */
  readonly resolve: string
}

/** One entry of `order`: the objects of a file, or the key (`namespace/name`) of a PackageRevision to publish. */
export type ExampleStep =
  | { readonly file: string; readonly objects: readonly KubeObject[] }
  | { readonly publish: string }

export interface Example {
  readonly name: string
  readonly folder: string
  readonly summary: string
  /** The steps that load it, in order. */
  readonly steps: readonly ExampleStep[]
  readonly processes: readonly ExampleProcess[]
  readonly simulate: string | undefined
  readonly attempts: readonly { readonly command: string; readonly shows: string }[]
}

/** Reads an example. Throws a usage error that lists the names when there is none of this name. */
export function readExample(name: string): Example {
  const names = exampleNames()
  const root = examplesFolder()
  if (root === undefined || !names.includes(name))
    throw usageError(`there is no example ${name}; there are: ${names.join(', ') || 'none'}`)
  const folder = join(root, name)
  const file = join(folder, 'example.yaml')
  const spec = parseYaml(readFileSync(file, 'utf8')) as JsonObject
  const simulate = join(folder, 'simulate.yaml')
  return {
    name,
    folder,
    summary: text(spec['summary'], file, 'summary'),
    steps: list(spec['order'], file, 'order').map((entry) =>
      typeof entry === 'string'
        ? readManifest(folder, entry)
        : { publish: text((entry as JsonObject)['publish'], file, 'order[].publish') },
    ),
    processes: list(spec['processes'] ?? [], file, 'processes').map((entry) =>
      processOf(entry as JsonObject, file, folder),
    ),
    simulate: existsSync(simulate) ? simulate : undefined,
    attempts: list(spec['try'] ?? [], file, 'try').map((entry) => ({
      command: text((entry as JsonObject)['command'], file, 'try[].command'),
      shows: text((entry as JsonObject)['shows'], file, 'try[].shows'),
    })),
  }
}

function readManifest(folder: string, file: string): { file: string; objects: readonly KubeObject[] } {
  const documents = parseYamlDocuments(readFileSync(join(folder, file), 'utf8'))
  return {
    file,
    objects: documents.filter((document) => document !== null).map((document) => asObject(document as JsonObject)),
  }
}

/** The published form of a module is JavaScript: Node strips no types inside node_modules. */
function runnable(folder: string, module: string): string {
  const built = module.replace(/\.ts$/, '.js')
  return existsSync(join(folder, built)) ? built : module
}

function processOf(entry: JsonObject, file: string, folder: string): ExampleProcess {
  return {
    name: text(entry['name'], file, 'processes[].name'),
    module: runnable(folder, text(entry['module'], file, 'processes[].module')),
    resolve: text(entry['resolve'], file, 'processes[].resolve'),
  }
}

function text(value: JsonValue | undefined, file: string, field: string): string {
  if (typeof value !== 'string') throw new CommandError(`${file}: ${field} must be a string`)
  return value
}

function list(value: JsonValue | undefined, file: string, field: string): readonly JsonValue[] {
  if (!Array.isArray(value)) throw new CommandError(`${file}: ${field} must be a list`)
  return value
}
