// Results of functions: failures, and the order in which functions of kustomize's framework report.
import type { FunctionResult } from '../engine/function-runner.ts'
import type { FunctionOutcome } from '../engine/render/resource-function.ts'
import type { Resource } from '../engine/render/resource.ts'

/** Ends a function of kustomize's framework: its results are one error, its standard error is `text`. */
export function failed(message: string, text: string): FunctionOutcome {
  return { results: [{ message, severity: 'error' }], failure: text }
}

/** Returns the file of a resource; the index is left out for the first. */
export function fileOf({ location: { path = '', index } }: Resource): NonNullable<FunctionResult['file']> {
  const position = Number(index ?? 0)
  return position > 0 ? { path, index: position } : { path }
}

/** Sorts by file, severity and message. */
export function sortResults(results: readonly FunctionResult[]): readonly FunctionResult[] {
  const severities = ['error', 'warning', 'info']
  const rank = ({ severity }: FunctionResult): number => {
    const index = severities.indexOf(severity ?? '')
    return index === -1 ? severities.length : index
  }
  const text = (result: FunctionResult): string => JSON.stringify([result.resourceRef, result.field, result.message])
  return results.toSorted(
    (a, b) =>
      compare(a.file?.path ?? '', b.file?.path ?? '') ||
      (a.file?.index ?? 0) - (b.file?.index ?? 0) ||
      rank(a) - rank(b) ||
      compare(text(a), text(b)),
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
