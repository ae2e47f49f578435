// Checks the mappings and maps in files. Start with lint.
import { formatFieldError } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CrdSchemas, ManifestError, manifestFiles, readManifests } from '@fairlead/offline'
import type { Manifest } from '@fairlead/offline'
import { asData } from '../engine/data/map-data.ts'
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
  const reports: LintReport[] = []
  for (const path of paths) reports.push(...(await lintPath(path, stdin)))
  return {
    objects: reports.reduce((sum, { objects }) => sum + objects, 0),
    findings: reports.flatMap(({ findings }) => findings),
  }
}

function lintPath(path: string, stdin: () => Promise<string>): Promise<readonly LintReport[]> {
  return reported(async () => {
    const reports: LintReport[] = []
    for (const file of path === '-' ? [path] : manifestFiles(path))
      reports.push(
        ...(await reported(async () =>
          (await readManifests([file], { stdin, hint: wildcardHint })).flatMap(lintManifest),
        )),
      )
    return reports
  })
}

/** Turns a ManifestError into a finding. */
async function reported(run: () => Promise<readonly LintReport[]>): Promise<readonly LintReport[]> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    return [{ objects: 0, findings: [{ message: error.message, isWarning: false }] }]
  }
}

/** Returns the report of an object; none for objects that are neither mappings nor maps. */
function lintManifest({ file, line, object }: Manifest): readonly LintReport[] {
  const problems = problemsOf(object)
  if (problems === undefined) return []
  const at = `${file}:${line}: ${object.kind} ${object.metadata.name ?? ''}`
  const findings = problems.map(({ isWarning, text }) => ({
    message: `${at}: ${isWarning ? 'warning' : 'error'}: ${text}`,
    isWarning,
  }))
  return [{ objects: 1, findings }]
}

interface ObjectProblem {
  readonly text: string
  readonly isWarning: boolean
}

function problemsOf(object: KubeObject): readonly ObjectProblem[] | undefined {
  if (object.kind === 'KindActionMapping') return mappingProblems(object)
  if (object.kind !== 'ConfigMap' || !isMap(object)) return undefined
  return mapProblems(object).map(({ code, field, message }) => ({
    text: `${field}: ${message}`,
    isWarning: code === 'LenientJson',
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
