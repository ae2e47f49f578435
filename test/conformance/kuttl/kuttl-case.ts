// Reads kuttl test cases: folders of `NN-name.yaml` files, where NN is the step and the first word of the name is the
// role (third-party/cartographer/README.md, "kuttl semantics").
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { asObject, parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'

/** An object that a TestStep deletes, by name or by labels. */
export interface Deletion {
  readonly apiVersion: string
  readonly kind: string
  readonly name?: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
}

/** A program that a TestStep or TestAssert runs. */
export interface StepCommand {
  readonly command?: string
  readonly script?: string
  readonly namespaced?: boolean
  readonly ignoreFailure?: boolean
  /** Seconds. */
  readonly timeout?: number
}

/** One step. */
export interface Step {
  readonly number: number
  readonly apply: readonly KubeObject[]
  readonly asserts: readonly KubeObject[]
  readonly errors: readonly KubeObject[]
  readonly deletions: readonly Deletion[]
  readonly commands: readonly StepCommand[]
  /** Commands of a TestAssert. */
  readonly assertCommands: readonly StepCommand[]
  /** Seconds until the asserts fail; undefined for the suite's timeout. */
  readonly timeout: number | undefined
}

/** One test case. */
export interface KuttlCase {
  /** Path relative to the folder of the suite. */
  readonly name: string
  readonly folder: string
  readonly steps: readonly Step[]
}

/** The settings in `kuttl-test.yaml`. */
export interface KuttlSuite {
  /** Folders with manifests to apply first. */
  readonly manifests: readonly string[]
  /** Folder of CRDs. */
  readonly definitions: string | undefined
  /** Seconds per step. */
  readonly timeout: number
}

const stepFile = /^(\d+)-([^.]+)(?:\.yaml)?$/
const suiteFile = 'kuttl-test.yaml'

/** Returns the cases in a folder and below it, by name. A folder that is a case itself is the only one. */
export function findCases(folder: string): KuttlCase[] {
  const found: string[] = []
  const walk = (at: string): void => {
    const entries = readdirSync(at, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    if (entries.some((entry) => entry.isFile() && stepFile.test(entry.name))) found.push(at)
    else for (const entry of entries) if (entry.isDirectory()) walk(join(at, entry.name))
  }
  walk(folder)
  return found.map((at) => ({
    name: at === folder ? basename(at) : at.slice(folder.length + 1),
    folder: at,
    steps: stepsOf(at),
  }))
}

/** Returns the suite of a folder: the nearest `kuttl-test.yaml` in it or above it. */
export function suiteOf(folder: string): KuttlSuite {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const path = join(at, suiteFile)
    if (existsSync(path)) return readSuite(path)
    if (at === dirname(at)) return { manifests: [], definitions: undefined, timeout: 30 }
  }
}

/** Returns the objects of all YAML files in a folder. */
export function objectsIn(folder: string): KubeObject[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => /\.ya?ml$/.test(name))
    .toSorted()
    .flatMap((name) => objectsOf(join(folder, name)))
}

function readSuite(path: string): KuttlSuite {
  const [suite] = parseYamlDocuments(readFileSync(path, 'utf8')) as JsonObject[]
  const at = (folder: unknown): string => resolve(dirname(path), String(folder))
  return {
    manifests: ((suite?.['manifestDirs'] ?? []) as string[]).map(at),
    definitions: suite?.['crdDir'] === undefined ? undefined : at(suite['crdDir']),
    timeout: Number(suite?.['timeout'] ?? 30),
  }
}

function stepsOf(folder: string): Step[] {
  const byNumber = new Map<number, string[]>()
  for (const name of readdirSync(folder).toSorted()) {
    const match = stepFile.exec(name)
    if (match === null) continue
    const path = join(folder, name)
    const files = statSync(path).isDirectory()
      ? readdirSync(path)
          .toSorted()
          .map((file) => join(path, file))
      : [path]
    const number = Number(match[1])
    byNumber.set(number, [...(byNumber.get(number) ?? []), ...files])
  }
  return [...byNumber.entries()].toSorted(([a], [b]) => a - b).map(([number, files]) => stepOf(number, files))
}

function stepOf(number: number, files: readonly string[]): Step {
  const roles = { apply: [] as KubeObject[], assert: [] as KubeObject[], errors: [] as KubeObject[] }
  for (const file of files) roles[roleOf(basename(file))].push(...objectsOf(file))
  const isOfKuttl = ({ apiVersion }: KubeObject): boolean => apiVersion.startsWith('kuttl.dev/')
  const own = [...roles.apply, ...roles.assert].filter(isOfKuttl)
  const field = <T>(kind: string, name: string): T[] =>
    own.flatMap((object) =>
      object.kind === kind ? (((object as unknown as JsonObject)[name] ?? []) as unknown as T[]) : [],
    )
  const timeout = own.find(({ kind }) => kind === 'TestAssert') as { timeout?: number } | undefined
  return {
    number,
    apply: roles.apply.filter((object) => !isOfKuttl(object)),
    asserts: roles.assert.filter((object) => !isOfKuttl(object)),
    errors: roles.errors,
    deletions: field<JsonObject>('TestStep', 'delete').map(deletionOf),
    commands: field<StepCommand>('TestStep', 'commands'),
    assertCommands: field<StepCommand>('TestAssert', 'commands'),
    timeout: timeout?.timeout,
  }
}

function deletionOf(entry: JsonObject): Deletion {
  const { apiVersion, kind, name, namespace, labels } = entry
  return { apiVersion, kind, name, namespace, labels } as unknown as Deletion
}

function roleOf(file: string): 'apply' | 'assert' | 'errors' {
  const [, , name = ''] = stepFile.exec(file) ?? []
  const word = /^[a-z]+/i.exec(name)?.[0].toLowerCase()
  return word === 'assert' ? 'assert' : word === 'errors' ? 'errors' : 'apply'
}

function objectsOf(file: string): KubeObject[] {
  return parseYamlDocuments(readFileSync(file, 'utf8')).map((document) => asObject(document as JsonObject))
}
