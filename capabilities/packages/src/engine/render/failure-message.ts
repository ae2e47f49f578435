// The messages of functions that failed. kpt's own says only that it was reported before, with the step.
import type { PipelineStep } from '../kptfile/kptfile.ts'
import { alreadyHandled } from './render-error.ts'
import { formatResult } from './result-fields.ts'

/** Number of results in a message, and their length in characters. */
const [maxResults, maxLength] = [3, 1000]

/**
 * Returns the message of a failed render with the function that failed and its first results.
 * @param message in the words of kpt, with its levels or without them
 * @param steps the functions that ran, in order
 */
export function failureMessage(message: string, steps: readonly Partial<PipelineStep>[]): string {
  const failed = steps.findLast(({ exitCode = 0 }) => exitCode !== 0)
  if (failed === undefined || !message.endsWith(alreadyHandled)) return message
  const { image, exec, exitCode, results = [], stderr = '' } = failed
  const errors = results.filter(({ severity }) => severity === 'error')
  const reported = errors.length > 0 ? errors : results
  const rest = reported.length > maxResults ? `; and ${reported.length - maxResults} more` : ''
  const details =
    reported.length > 0
      ? reported.slice(0, maxResults).map((result) => formatResult(result))
      : [stderr.trim() || `exit code ${exitCode}`]
  const path = /^.*pkg \.\/([^\n]*?):/s.exec(message)?.[1]
  const place = path === undefined ? '' : `package ${path}: `
  return `${place}function ${image ?? exec ?? ''} failed: ${shortened(details.join('; '))}${rest}`
}

function shortened(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`
}
