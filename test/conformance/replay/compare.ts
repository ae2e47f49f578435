// Compares a recorded with an actual response: normalisation, headers, loose messages, unordered causes, reduced
// OpenAPI documents.
import { parseYaml } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { ExpectedResponse } from './scenario.ts'
import type { Difference, Unifier } from './unify.ts'

/** A response: header names in lower case. */
export interface ActualResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly bytes: Buffer
  /** The body parsed, when it is JSON. */
  readonly json: JsonValue | undefined
}

/** The headers that recordings keep. */
export const comparedHeaders = [
  'content-type',
  'warning',
  'allow',
  'location',
  'retry-after',
  'www-authenticate',
  'cache-control',
  'etag',
  'vary',
  'x-content-type-options',
]

/** Sorts every `metadata.managedFields` by manager, operation, apiVersion and subresource, as recordings are. */
export function normalise(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => normalise(item as JsonValue))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const done = normalise(item as JsonValue)
      return [key, key === 'managedFields' && Array.isArray(done) ? [...done].sort(byOwner) : done]
    }),
  )
}

function byOwner(a: JsonValue, b: JsonValue): number {
  const text = (entry: JsonValue): string => {
    const { manager = '', operation = '', apiVersion = '', subresource = '' } = entry as Record<string, string>
    return [manager, operation, apiVersion, subresource].join('\0')
  }
  return text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0
}

/** Differences of a response. With `loose`, messages only have to be present. */
export function compareResponse(
  expected: ExpectedResponse,
  actual: ActualResponse,
  unifier: Unifier,
  loose: boolean,
): Difference[] {
  const differences = [
    ...unifier.match(expected.status, actual.status, 'status'),
    ...compareHeaders(expected.headers, actual.headers, unifier),
  ]
  const type = String(actual.headers['content-type'] ?? '')
  if (expected.base64 !== undefined)
    return [...differences, ...unifier.match(expected.base64, actual.bytes.toString('base64'), 'base64')]
  if (expected.text !== undefined) {
    const text = actual.bytes.toString()
    if (loose && expected.text !== '')
      return text === '' ? [...differences, { path: 'text', expected: expected.text, actual: '' }] : differences
    if (type.startsWith('application/yaml')) {
      return [...differences, ...unifier.match(normalise(yaml(expected.text)), normalise(yaml(text)), 'body')]
    }
    return [...differences, ...unifier.match(expected.text, text, 'text')]
  }
  if (expected.body === undefined) return differences
  if (actual.json === undefined) {
    return [
      ...differences,
      { path: 'body', expected: expected.body, actual: actual.bytes.toString().slice(0, 500), why: 'not JSON' },
    ]
  }
  const wanted = normalise(expected.body)
  const got = normalise(actual.json)
  if (expected.note?.startsWith('reduced')) return [...differences, ...compareReduced(wanted, got, unifier, 'body')]
  return [...differences, ...compareBody(wanted, got, unifier, { loose, unordered: expected.unorderedCauses ?? false })]
}

function yaml(text: string): JsonValue {
  try {
    return parseYaml(text)
  } catch {
    return text
  }
}

function compareHeaders(
  expected: ExpectedResponse['headers'],
  actual: ActualResponse['headers'],
  unifier: Unifier,
): Difference[] {
  return comparedHeaders.flatMap((name) =>
    unifier.match(expected[name] as JsonValue | undefined, actual[name] as JsonValue | undefined, `headers.${name}`),
  )
}

/** Compares bodies; a Status may have loose messages and causes in any order. */
export function compareBody(
  expected: JsonValue,
  actual: JsonValue,
  unifier: Unifier,
  options: { readonly loose: boolean; readonly unordered: boolean },
): Difference[] {
  if (options.loose && isStatus(expected)) return compareLoosely(expected, actual, unifier)
  if (!options.unordered || !isStatus(expected) || !isStatus(actual)) return unifier.match(expected, actual, 'body')
  const causes = (status: JsonObject): readonly JsonValue[] =>
    ((status['details'] as JsonObject | undefined)?.['causes'] as readonly JsonValue[]) ?? []
  const strip = (status: JsonObject): JsonObject => ({
    ...status,
    message: sortedParts(String(status['message'])),
    details: { ...(status['details'] as JsonObject), causes: causes(status).length },
  })
  return [
    ...unifier.match(strip(expected), strip(actual), 'body'),
    ...matchAsSet(causes(expected), causes(actual), unifier, 'body.details.causes'),
  ]
}

/** The parts of a message in a fixed order: `[a, b]` and lines. */
function sortedParts(message: string): string {
  return message
    .split(/, |\[|\]|\n|: /)
    .sort()
    .join(' | ')
}

function matchAsSet(
  expected: readonly JsonValue[],
  actual: readonly JsonValue[],
  unifier: Unifier,
  path: string,
): Difference[] {
  const left = [...actual]
  return expected.flatMap((cause, index) => {
    const found = left.findIndex((candidate) => unifier.tries(cause, candidate))
    if (found < 0)
      return [{ path: `${path}[${index}]`, expected: cause, actual: left as JsonValue, why: 'none of these' }]
    left.splice(found, 1)
    return []
  })
}

function compareLoosely(expected: JsonObject, actual: JsonValue, unifier: Unifier): Difference[] {
  if (!isStatus(actual)) return unifier.match(expected, actual, 'body')
  const blank = (status: JsonObject): JsonObject => {
    const { message, ...rest } = status
    const details = status['details'] as JsonObject | undefined
    const causes = details?.['causes'] as readonly JsonObject[] | undefined
    return {
      ...rest,
      hasMessage: typeof message === 'string' && message !== '',
      ...(details
        ? { details: { ...details, ...(causes ? { causes: causes.map(({ message: _, ...cause }) => cause) } : {}) } }
        : {}),
    }
  }
  return unifier.match(blank(expected), blank(actual), 'body')
}

function isStatus(value: JsonValue): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && (value as JsonObject)['kind'] === 'Status'
  )
}

/** A reduced OpenAPI document: only what was kept is compared, lists of names against lists of things that have one. */
function compareReduced(
  expected: JsonValue,
  actual: JsonValue | undefined,
  unifier: Unifier,
  path: string,
): Difference[] {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const nameOf = (item: JsonValue): JsonValue => (item as JsonObject | null)?.['name'] ?? item
    return expected.every((item) => typeof item === 'string')
      ? unifier.match(
          [...expected].sort() as JsonValue,
          actual.map((item) => nameOf(item as JsonValue)).sort() as JsonValue,
          path,
        )
      : unifier.match(expected as JsonValue, actual as JsonValue, path)
  }
  if (
    expected === null ||
    typeof expected !== 'object' ||
    actual === null ||
    typeof actual !== 'object' ||
    actual === undefined
  ) {
    return unifier.match(expected, actual, path)
  }
  return Object.entries(expected as JsonObject).flatMap(([key, value]) =>
    compareReduced(
      value,
      (actual as JsonObject)[key] ?? (actual as JsonObject)[`x-kubernetes-${key}`],
      unifier,
      `${path}.${key}`,
    ),
  )
}
