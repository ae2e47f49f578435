// Checks the mappings and maps in files. Start with lint.
import { formatFieldError, isJsonObject } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CrdSchemas, ManifestError, manifestFiles, readDocuments, readManifests } from '@fairlead/offline'
import type { Manifest } from '@fairlead/offline'
import { asData } from '../engine/data/map-data.ts'
import type { ProblemCode } from '../engine/data/problem.ts'
import { kamDefsKey } from '../engine/embedded-mapping.ts'
import { mapProblems } from '../engine/map-problems.ts'
import { parseMapping } from '../engine/mapping/mapping.ts'
import { mapTypeLabel } from '../engine/maps/action-map.ts'
import { crds } from '../generated/crds.ts'
import { wildcardHint } from './wildcard-hint.ts'

/** A mistake in a file. */
export interface Finding {
  /** One line that begins with file and line. */
  readonly message: string
  /** The object works in spite of it. */
  readonly isWarning: boolean
}

/** The result for all files. */
export interface LintReport {
  /** Number of mappings and maps that were checked. */
  readonly objects: number
  readonly findings: readonly Finding[]
}

const schemas = new CrdSchemas(crds)

/** Checks files and folders; `-` is standard input. An unreadable file is a finding and does not stop the others. */
export async function lint(paths: readonly string[], stdin: () => Promise<string>): Promise<LintReport> {
  const findings: Finding[] = []
  let objects = 0
  for await (const manifest of manifestsOf(paths, stdin)) {
    if (manifest instanceof ManifestError) findings.push({ message: manifest.message, isWarning: false })
    else {
      const problems = problemsOf(manifest.object)
      if (problems === undefined) continue
      objects++
      findings.push(...problems.map((problem) => findingOf(manifest, problem)))
    }
  }
  return { objects, findings }
}

/** Reads manifests file by file, so that an error in one does not stop the others. */
async function* manifestsOf(
  paths: readonly string[],
  stdin: () => Promise<string>,
): AsyncGenerator<Manifest | ManifestError> {
  for (const path of paths) {
    const files = await orManifestError(async () => (path === '-' ? [path] : manifestFiles(path)))
    if (files instanceof ManifestError) yield files
    else for (const file of files) if (file === path || !(await isOther(file))) yield* await manifestsIn(file, stdin)
  }
}

/** Reports whether a file of a folder has only documents that claim to be no manifest. */
async function isOther(file: string): Promise<boolean> {
  const documents = await orManifestError(async () => readDocuments(file, wildcardHint))
  if (documents instanceof ManifestError) return false
  return documents.every(({ value }) => !isJsonObject(value) || !('apiVersion' in value || 'kind' in value))
}

async function manifestsIn(file: string, stdin: () => Promise<string>): Promise<readonly (Manifest | ManifestError)[]> {
  const manifests = await orManifestError(() => readManifests([file], { stdin, hint: wildcardHint }))
  return manifests instanceof ManifestError ? [manifests] : manifests
}

async function orManifestError<T>(run: () => Promise<T>): Promise<T | ManifestError> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ManifestError) return error
    throw error
  }
}

function findingOf({ file, line, object }: Manifest, { isWarning, text }: ObjectProblem): Finding {
  const severity = isWarning ? 'warning' : 'error'
  return { message: `${file}:${line}: ${object.kind} ${object.metadata.name ?? ''}: ${severity}: ${text}`, isWarning }
}

interface ObjectProblem {
  readonly text: string
  readonly isWarning: boolean
}

/** Problems in spite of which the object works, or works with other maps. */
const warnings: readonly ProblemCode[] = ['LenientJson', 'UnknownField', 'UnknownReference']

/** Returns the problems of a mapping or map; undefined for any other object. */
function problemsOf(object: KubeObject): readonly ObjectProblem[] | undefined {
  if (object.kind === 'KindActionMapping') return mappingProblems(object)
  if (object.kind !== 'ConfigMap' || !isMap(object)) return undefined
  return mapProblems(object).map(({ code, field, message }) => ({
    text: `${field}: ${message}`,
    isWarning: warnings.includes(code),
  }))
}

/** Returns the errors of the schema, and the problems of rules in fields that the schema accepts. */
function mappingProblems(object: KubeObject): readonly ObjectProblem[] {
  const errors = schemas.check(object)
  const refused = new Set(errors.map(({ field }) => field))
  return [
    ...errors.map((error) => ({ text: formatFieldError(error), isWarning: false })),
    ...parseMapping(object)
      .problems.filter(({ field }) => !refused.has(field))
      .map(({ field, message }) => ({ text: `${field}: ${message}`, isWarning: false })),
  ]
}

/** Data keys by which a ConfigMap without the label of maps is recognized. */
const mapKeys = [
  'url-actions',
  'cmd-actions',
  'function-actions',
  'inputs',
  'variables',
  'snippets',
  'exists',
  'jsonpath',
  'algorithm',
  'sections',
  'section-datasources',
  kamDefsKey,
]

function isMap({ metadata, data }: KubeObject): boolean {
  return metadata.labels?.[mapTypeLabel] !== undefined || mapKeys.some((key) => Object.hasOwn(asData(data), key))
}
