// The settings of tests in the format of cartotest: a leaf folder is a test and inherits the settings of the folders
// above it; `info.yaml` overrides the names of files.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { ManifestError, readDocuments } from '@fairlead/offline'

/** Paths are of files; undefined where neither the folder nor one above it sets them. */
export interface Settings {
  readonly template?: string
  /** Data values of a template file that is itself a ytt template. */
  readonly templateValues?: string
  readonly workload?: string
  readonly expected?: string
  readonly chains: readonly string[]
  readonly chainValues?: string
  readonly mock?: JsonObject
  readonly target?: string
  readonly previousOutputs?: JsonObject
  readonly compare: JsonObject
  /** Only tests with it run if there are any. */
  readonly focus: boolean
}

/** A test: a leaf folder. */
export interface Cartotest {
  readonly name: string
  readonly settings: Settings & { readonly template: string }
}

/** Returns the tests below a folder, in the order of their names. Throws ManifestError. */
export function findCartotests(folder: string): readonly Cartotest[] {
  const tests = [...below(folder, '', { chains: [], compare: {}, focus: false })]
  const focused = tests.filter(({ settings }) => settings.focus)
  return focused.length > 0 ? focused : tests
}

function* below(folder: string, name: string, inherited: Settings): Generator<Cartotest> {
  const settings = settingsOf(folder, inherited)
  const subfolders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const { template } = settings
  if (subfolders.length === 0 && template !== undefined) yield { name, settings: { ...settings, template } }
  for (const entry of subfolders.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    yield* below(join(folder, entry.name), join(name, entry.name), settings)
}

const infoFields: readonly string[] = ['metadata', 'focus', 'given', 'expected', 'compareOptions']

function settingsOf(folder: string, inherited: Settings): Settings {
  const path = (name: unknown): string | undefined => (typeof name === 'string' ? join(folder, name) : undefined)
  const byDefault = (name: string): string | undefined =>
    existsSync(join(folder, name)) ? join(folder, name) : undefined
  const own = infoOf(join(folder, 'info.yaml'))
  const given = section(own, 'given')
  const template = section(given, 'template')
  const chain = section(given, 'supplyChain')
  const chains = readdirSync(folder).filter(
    (file) => /^supply-chain.*\.ya?ml$/.test(file) && !file.includes('ytt-values'),
  )
  const named = (chain['paths'] as readonly string[] | undefined)?.flatMap((file) => filesAt(join(folder, file)))
  const compare = section(own, 'compareOptions')
  return {
    template: path(template['path']) ?? byDefault('template.yaml') ?? inherited.template,
    templateValues: path(template['yttPath']) ?? byDefault('template-ytt-values.yaml') ?? inherited.templateValues,
    workload: path(given['workload']) ?? byDefault('workload.yaml') ?? inherited.workload,
    expected: path(own['expected']) ?? byDefault('expected.yaml') ?? inherited.expected,
    chains: named ?? (chains.length > 0 ? chains.map((file) => join(folder, file)) : inherited.chains),
    chainValues: path(chain['yttPath']) ?? byDefault('supply-chain-ytt-values.yaml') ?? inherited.chainValues,
    mock: (given['mockSupplyChain'] as JsonObject | undefined) ?? inherited.mock,
    target: (chain['targetResourceName'] as string | undefined) ?? inherited.target,
    previousOutputs: (chain['previousOutputs'] as JsonObject | undefined) ?? inherited.previousOutputs,
    compare: Object.keys(compare).length > 0 ? compare : inherited.compare,
    focus: own['focus'] === true || inherited.focus,
  }
}

function infoOf(path: string): JsonObject {
  const [document] = existsSync(path) ? readDocuments(path) : []
  const info = document?.value
  if (document === undefined || !isJsonObject(info)) return {}
  const unknown = Object.keys(info).find((field) => !infoFields.includes(field))
  if (unknown !== undefined)
    throw new ManifestError(path, document.line, `unknown field ${unknown}; there are ${infoFields.join(', ')}`)
  return info
}

function filesAt(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path]
  return readdirSync(path)
    .filter((file) => /\.ya?ml$/.test(file))
    .toSorted()
    .map((file) => join(path, file))
}

/** Returns the object at a key, an empty one when there is none. */
export function section(value: JsonObject, key: string): JsonObject {
  return isJsonObject(value[key]) ? value[key] : {}
}
