// The known differences from the CEL conformance cases, each with its reason.

interface Difference {
  readonly reason: string
  readonly matches: (test: ConformanceCase) => boolean
}

/** The identity of a conformance case. */
export interface ConformanceCase {
  readonly name: string
  readonly expression: string
  /** The case evaluates without type checking. */
  readonly unchecked: boolean
}

const inExpression =
  (form: RegExp) =>
  (test: ConformanceCase): boolean =>
    form.test(test.expression)

const oldFormat =
  /^string_ext\/format\/(?:.*scientific notation|default precision for fixed-point clause with u?int|NaN support for decimal|(?:positive|negative) infinity support for (?:decimal|fixed-point)|(?:list|map) support|dyntype (?:NaN|support for (?:lists|maps)))/

const differences: readonly Difference[] = [
  { reason: 'Kubernetes checks every expression before it runs', matches: ({ unchecked }) => unchecked },
  { reason: 'there are no protobuf messages', matches: inExpression(/\b(?:[A-Z]\w*Value|Value)\s*\{|TestAllTypes/) },
  { reason: 'cel-js does not parse names in backticks', matches: inExpression(/\.`/) },
  { reason: 'cel-js does not parse optional elements of literals', matches: inExpression(/[[{,]\s*\?/) },
  { reason: 'cel-js does not parse raw bytes', matches: inExpression(/^b[rR]/) },
  { reason: 'cel-js does not parse doubles that begin with a dot', matches: inExpression(/^\.\d/) },
  {
    reason: 'variables have simple names in Kubernetes',
    matches: ({ name }) => name.includes('qualified_identifier_resolution'),
  },
  {
    reason: 'cel-go counts all milliseconds of a duration',
    matches: ({ name }) => name === 'timestamps/duration_converters/get_milliseconds',
  },
  {
    reason:
      'Kubernetes has version 2 of the string functions, whose format writes numbers in English and quotes inside lists',
    matches: ({ name }) => oldFormat.test(name),
  },
  {
    reason: 'Kubernetes finds nothing behind the end of a string, without an error',
    matches: ({ name }) => /\/(?:last)?indexof_out_of_range$/.test(name),
  },
  { reason: 'Kubernetes refuses IPv4 addresses inside IPv6', matches: inExpression(/::ffff:/) },
]

/** Returns the reason why a case differs; undefined when it must agree. */
export function knownDifference(test: ConformanceCase): string | undefined {
  return differences.find(({ matches }) => matches(test))?.reason
}

/** All reasons; each must still apply. */
export const knownReasons: readonly string[] = differences.map(({ reason }) => reason)
