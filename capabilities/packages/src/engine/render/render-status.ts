// The steps of a render, as they are kept in the Kptfile and printed.
import type { PipelineStep, RenderStatus } from '../kptfile/kptfile.ts'

/** Makes the status of the steps so far. Undefined when no function was reached. */
export function renderStatusOf(
  mutationSteps: readonly PipelineStep[],
  validationSteps: readonly PipelineStep[],
): RenderStatus | undefined {
  if (mutationSteps.length === 0 && validationSteps.length === 0) return undefined
  const errors = [...mutationSteps, ...validationSteps].filter(({ exitCode }) => exitCode !== 0)
  return {
    ...(mutationSteps.length > 0 && { mutationSteps }),
    ...(validationSteps.length > 0 && { validationSteps }),
    ...(errors.length > 0 && { errorSummary: errors.map((step) => summaryOf(step)).join('\n') }),
  }
}

function summaryOf({ name = '', image = '', exec = '', executionError, exitCode }: PipelineStep): string {
  return `${name || image || exec}: ${executionError ?? `exit code ${exitCode}`}`
}
