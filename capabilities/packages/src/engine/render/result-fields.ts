// Results of functions as kpt writes them: fields in its order, empty ones left out, values of fields as strings.
import type { FunctionResult } from '../function-runner.ts'
import type { StepResult } from '../kptfile/kptfile.ts'

/** Returns a result with kpt's fields in kpt's order. */
export function resultFields({ message, severity, resourceRef, field, file, tags }: FunctionResult): StepResult {
  const { apiVersion, kind, name, namespace } = resourceRef ?? {}
  return {
    ...(message !== '' && { message }),
    ...(severity !== undefined && { severity }),
    ...(resourceRef !== undefined && { resourceRef: nonEmpty({ apiVersion, kind, name, namespace }) }),
    ...(field !== undefined && {
      field: nonEmpty({
        path: field.path,
        currentValue: valueText(field.currentValue),
        proposedValue: valueText(field.proposedValue),
      }),
    }),
    ...(file !== undefined && {
      file: {
        ...nonEmpty({ path: file.path }),
        ...(file.index !== undefined && file.index !== 0 && { index: file.index }),
      },
    }),
    ...(tags !== undefined && Object.keys(tags).length > 0 && { tags }),
  }
}

/** Returns a result as one entry of kpt's logs. */
export function formatResult({ message = '', severity, resourceRef, field }: StepResult): string {
  const { apiVersion, kind, namespace, name } = resourceRef ?? {}
  const resource = [apiVersion, kind, namespace, name].filter((part) => part !== undefined && part !== '').join('/')
  const place = [resource, field?.path ?? ''].filter((part) => part !== '').map((part) => ` ${part}`)
  return `[${severity || 'info'}]${place.join('')}: ${message}`
}

function valueText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value.trim() : JSON.stringify(value)
}

function nonEmpty(fields: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  )
}
