// `fairlead actions lint`: what is wrong with mappings and maps in files, without a cluster.
import type { CommandContext } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { kamDefsKey } from '../engine/embedded-mapping.ts'
import { mapTypeLabel } from '../engine/maps/action-map.ts'
import { mapProblems } from '../engine/map-problems.ts'
import { parseMapping } from '../engine/mapping/mapping.ts'
import type { Problem } from '../engine/data/problem.ts'
import { DocumentError, filesOf, readDocuments } from './documents.ts'

/**
 * Prints one line per mistake and exits with 1 when something cannot work; what strict JSON would refuse is only told.
 */
export async function run(context: CommandContext): Promise<number> {
  const paths = context.arguments[0] as readonly string[]
  let checked = 0
  let mistakes = 0
  let warnings = 0
  for (const path of paths) {
    try {
      for (const file of path === '-' ? ['-'] : filesOf(path)) {
        try {
          for (const { object } of await readDocuments([file], context.stdin)) {
            const problems = problemsOf(object)
            if (problems === undefined) continue
            checked++
            for (const problem of problems) {
              const isWarning = problem.code === 'LenientJson'
              if (isWarning) warnings++
              else mistakes++
              context.out(
                `${file}: ${object.kind} ${object.metadata.name ?? ''}: ${isWarning ? 'warning' : 'error'}: ${problem.field}: ${problem.message}`,
              )
            }
          }
        } catch (error) {
          mistakes += report(context, error)
        }
      }
    } catch (error) {
      mistakes += report(context, error)
    }
  }
  context.err(`${checked} objects checked: ${mistakes} errors, ${warnings} warnings`)
  return mistakes > 0 ? 1 : 0
}

/** A file that cannot be read does not keep others from being checked. */
function report(context: CommandContext, error: unknown): number {
  if (!(error instanceof DocumentError)) throw error
  context.out(error.message)
  return 1
}

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

/** Undefined for objects that are neither mapping nor map. */
function problemsOf(object: KubeObject): readonly Problem[] | undefined {
  if (object.kind === 'KindActionMapping') return parseMapping(object).problems
  const data = object.data
  if (object.kind !== 'ConfigMap') return undefined
  const isMap =
    object.metadata.labels?.[mapTypeLabel] !== undefined ||
    (typeof data === 'object' && data !== null && mapKeys.some((key) => Object.hasOwn(data, key)))
  return isMap ? mapProblems(object) : undefined
}
