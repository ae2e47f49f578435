// Status maps: they derive one word and a sentence from the status of a resource (originals/kappnav.md §4).
import { isJsonArray, isJsonObject, ownValue, parseJson, parseJsonPath, stringifyJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { MapData, asData } from '../data/map-data.ts'
import type { Problem } from '../data/problem.ts'
import type { Candidate } from '../mapping/mapping-index.ts'
import type { RunSnippet } from './snippet.ts'

/** Name of the map for kinds without one; looked up in the namespaces of the candidates. */
export const unregisteredStatusMap = 'kappnav.status-mapping-unregistered'

/** A parsed status map: exactly one way to derive a status. */
export type StatusMap =
  | { readonly exists: JsonObject }
  | { readonly jsonpath: JsonObject }
  | { readonly algorithm: string }

/** The derived status of a resource. */
export interface ResourceStatus {
  readonly value: string
  readonly flyover: string
  readonly 'flyover.nls'?: string
  /** Why the status map gave no status. */
  readonly problem?: string
}

/** Returns the status for resources without another; the word is `status-unknown` of kAppNav's configuration. */
export function unknownStatus(word = 'Unknown'): ResourceStatus {
  return { value: word, flyover: word }
}

/** Parses a status map, by the first of exists, jsonpath and algorithm. The map is undefined when it is invalid. */
export function parseStatusMap(object: Readonly<Record<string, unknown>>): {
  readonly map: StatusMap | undefined
  readonly problems: readonly Problem[]
} {
  const data = new MapData({ data: object['data'] })
  for (const key of ['exists', 'jsonpath'] as const) {
    const value = data.read(key)
    if (isJsonObject(value)) return { map: { [key]: value } as StatusMap, problems: data.problems }
    if (value !== undefined)
      data.problems.push({ code: 'InvalidMap', field: `data.${key}`, message: 'must be an object { … }' })
  }
  const algorithm = ownValue(asData(object['data']), 'algorithm')
  if (typeof algorithm === 'string') return { map: { algorithm }, problems: data.problems }
  if (data.problems.length === 0)
    data.problems.push({
      code: 'InvalidMap',
      field: 'data',
      message: 'a status map must have exists, jsonpath or algorithm',
    })
  return { map: undefined, problems: data.problems }
}

/** Returns the first candidate that exists, else the map for unregistered kinds in the namespaces of the candidates. */
export function findStatusMap<T>(
  candidates: readonly Candidate[],
  find: (namespace: string, name: string) => T | undefined,
): T | undefined {
  for (const { namespace, name } of candidates) {
    const found = find(namespace, name)
    if (found !== undefined) return found
  }
  for (const { namespace } of candidates) {
    const found = find(namespace, unregisteredStatusMap)
    if (found !== undefined) return found
  }
  return undefined
}

/** Evaluates a status map on a resource. Failures give the unknown status, never an error. */
export async function evaluateStatus(
  map: StatusMap | undefined,
  resource: Readonly<Record<string, unknown>>,
  runSnippet: RunSnippet,
  unknown: ResourceStatus = unknownStatus(),
): Promise<ResourceStatus> {
  if (map === undefined) return unknown
  const failed = (problem: string): ResourceStatus => ({ ...unknown, problem })
  if ('exists' in map) return statusFrom(map.exists, undefined) ?? failed('its status map has no value in exists')
  const status = asData(resource['status'])
  if ('jsonpath' in map) return byPath(map.jsonpath, status) ?? unknown
  try {
    const text = await runSnippet(withGetStatusFirst(map.algorithm), [stringifyJson(status)], { mayBeCached: true })
    const result = parseJson(text)
    return (
      (isJsonObject(result) ? statusFrom(result, undefined) : undefined) ??
      failed('the algorithm of its status map returned no JSON object with a value')
    )
  } catch (error) {
    return failed(`the algorithm of its status map failed: ${(error as Error).message}`)
  }
}

/**
 * Puts a call of `getStatus` in front: kAppNav calls the function of that name, wherever it is among its helpers. An
 * algorithm without one is called as a snippet is, by its first function.
 */
function withGetStatusFirst(algorithm: string): string {
  if (!/\bfunction\s+getStatus\s*\(/.test(algorithm)) return algorithm
  return `function statusOfResource(status) { return getStatus(status) } ${algorithm}`
}

function byPath(rule: JsonObject, status: JsonObject): ResourceStatus | undefined {
  const expression = ownValue(rule, 'expression')
  const found = typeof expression === 'string' ? valueAt(expression, status) : undefined
  if (found === undefined) return undefined
  const matches = ownValue(rule, 'matches')
  const match = isJsonObject(matches) ? ownValue(matches, found) : undefined
  const chosen = isJsonObject(match) ? match : ownValue(rule, 'else')
  return isJsonObject(chosen) ? statusFrom(chosen, found) : undefined
}

/** Returns the value at a path of the status object, written as `.phase`, `$.phase`, `phase` or `{.phase}`. */
function valueAt(expression: string, status: JsonObject): string | undefined {
  const inner = /^\s*\{(.*)\}\s*$/.exec(expression)?.[1] ?? expression.trim()
  const path = inner.replace(/^\$/, '')
  try {
    const [[value] = []] = parseJsonPath(`{${path.startsWith('.') || path.startsWith('[') ? path : `.${path}`}}`).find(
      status,
    )
    return value === undefined || value === null || typeof value === 'object' ? undefined : String(value)
  } catch {
    return undefined
  }
}

function statusFrom(from: JsonObject, status: string | undefined): ResourceStatus | undefined {
  const value = ownValue(from, 'value')
  if (typeof value !== 'string') return undefined
  const filled = (text: string): string => (status === undefined ? text : text.replaceAll('${status}', () => status))
  const flyover = ownValue(from, 'flyover')
  const nls = ownValue(from, 'flyover.nls')
  // The shipped maps write a list: the key and its arguments.
  const key = isJsonArray(nls) ? nls.filter((part) => typeof part === 'string').join(',') : nls
  return {
    value,
    flyover: typeof flyover === 'string' ? filled(flyover) : value,
    ...(typeof key === 'string' && key !== '' ? { 'flyover.nls': filled(key) } : {}),
  }
}
