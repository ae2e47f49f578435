// Query parameters as Kubernetes' parameter codec reads them: boolean values, and the errors of integers.
import { badRequest } from '@fairlead/kube'

/** Returns a boolean parameter: undefined without one; `false` and `0` are false, anything else is true. */
export function booleanParameter(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name)
  if (value === null) return undefined
  return value !== '0' && value.toLowerCase() !== 'false'
}

/**
 * Returns an integer parameter; undefined without one.
 * @throws StatusError 400
 */
export function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name)
  if (value === null) return undefined
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`)
  const number = Number(value)
  if (BigInt.asIntN(64, BigInt(value.replace(/^\+/, ''))) !== BigInt(value.replace(/^\+/, '')))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`)
  return number
}

/** Returns a resourceVersion as a number; undefined for '' and every other string that is not an unsigned integer. */
export function parseResourceVersion(text: string): number | undefined {
  if (!/^\d+$/.test(text)) return undefined
  const version = Number(text)
  return Number.isSafeInteger(version) ? version : undefined
}

/** Returns Go's message about a resourceVersion that is not a number, in a query. */
export function resourceVersionSyntax(text: string): string {
  return `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${unsignedSyntax(text)}`
}

/** Returns Go's message about a string that is not an unsigned integer. */
export function unsignedSyntax(text: string): string {
  return `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`
}
