// Query parameters with the readings of Kubernetes' parameter codec: what counts as true, how integers fail.
import { badRequest } from '@fairlead/kube'

/** A boolean parameter: absent is undefined; `false` and `0` are false, anything else is true. */
export function booleanParameter(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name)
  if (value === null) return undefined
  return value !== '0' && value.toLowerCase() !== 'false'
}

/**
 * An integer parameter; absent is undefined.
 * @throws StatusError 400
 */
export function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name)
  if (value === null) return undefined
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`)
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`)
  return number
}

/**
 * A resourceVersion as a number; undefined for '' and '0' stays 0.
 * @returns undefined when the text is no version
 */
export function parseResourceVersion(text: string): number | undefined {
  if (!/^\d+$/.test(text)) return undefined
  const version = Number(text)
  return Number.isSafeInteger(version) ? version : undefined
}

/** What Go says about a resourceVersion that is no number, in a query. */
export function resourceVersionSyntax(text: string): string {
  return `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${unsignedSyntax(text)}`
}

/** What Go says about text that is no unsigned integer. */
export function unsignedSyntax(text: string): string {
  return `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`
}
