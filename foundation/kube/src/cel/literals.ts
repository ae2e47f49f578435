// What Kubernetes refuses of literals before an expression is ever run: lists and maps of mixed types, times and patterns that are none, formats that
// their arguments do not fit. cel-go calls these validators.
import { regexError } from '../regex.ts'
import type { CheckedExpr } from './checker.ts'
import { CelError } from './errors.ts'
import type { Finding } from './errors.ts'
import { parseDuration } from './library/standard.ts'
import type { Expr } from './syntax.ts'
import { formatType, typeText } from './types.ts'
import type { CelType } from './types.ts'
import { isSame } from './unification.ts'
import { parseTimestamp } from './values.ts'

/** Everything that is wrong with the literals of an expression whose types are right. */
export function literalFindings(checked: CheckedExpr): Finding[] {
  const findings: Finding[] = []
  visit(checked.root, checked, false, findings)
  return findings
}

const conversions: ReadonlySet<string> = new Set(['int', 'uint', 'double', 'bool', 'string', 'bytes'])

/** Why a call that never changes fails each time: a conversion of a literal, a search for a pattern that is none. */
export function constantProblem(expr: Expr, checked: CheckedExpr): Finding | undefined {
  for (const part of partsOf(expr)) {
    const problem = constantProblem(part, checked)
    if (problem !== undefined) return problem
  }
  if (expr.kind !== 'call') return undefined
  const [first, second] = expr.args
  if (conversions.has(expr.name) && first?.kind === 'literal') {
    try {
      checked.overloadsOf(expr)[0]?.call([first.value])
    } catch (error) {
      if (error instanceof CelError) return { summary: error.message, at: expr.at }
      throw error
    }
  }
  const isSearch = expr.name === 'find' || expr.name === 'findAll'
  if (!isSearch || second?.kind !== 'literal' || typeof second.value !== 'string') return undefined
  const problem = regexError(second.value)
  return problem === undefined ? undefined : { summary: problem, at: expr.at }
}

/** `exempt`: inside a call of format, whose arguments may be of any types. */
function visit(expr: Expr, checked: CheckedExpr, exempt: boolean, findings: Finding[]): void {
  if (expr.kind === 'call') checkCall(expr, checked, findings)
  if (!exempt) checkAggregate(expr, checked, findings)
  const inside = exempt || (expr.kind === 'call' && expr.name === 'format')
  for (const part of partsOf(expr)) visit(part, checked, inside, findings)
}

/** The expressions directly inside another. */
export function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'name':
      return []
    case 'select':
      return [expr.operand]
    case 'index':
      return [expr.operand, expr.index]
    case 'call':
      return expr.args
    case 'logic':
      return [expr.left, expr.right]
    case 'conditional':
      return [expr.test, expr.whenTrue, expr.whenFalse]
    case 'list':
      return expr.items
    case 'map':
      return expr.entries.flat()
    case 'fold':
      return [expr.range, ...(expr.filter === undefined ? [] : [expr.filter]), expr.body]
    case 'bind':
      return [expr.value, expr.body]
    case 'optMap':
      return [expr.target, expr.body]
  }
}

function checkAggregate(expr: Expr, checked: CheckedExpr, findings: Finding[]): void {
  const mismatch = (wanted: Expr, found: Expr): boolean => {
    const [first, other] = [checked.typeOf(wanted), checked.typeOf(found)]
    if (isSame(first, other)) return false
    const summary = `expected type '${formatType(first)}' but found '${formatType(other)}'`
    findings.push({ summary, at: found.at })
    return true
  }
  if (expr.kind === 'list') {
    const [first, ...rest] = expr.items
    // Only the first of another type is told.
    rest.some((item) => mismatch(first!, item))
  } else if (expr.kind === 'map') {
    const [first, ...rest] = expr.entries
    for (const [key, value] of rest) {
      mismatch(first![0], key)
      mismatch(first![1], value)
    }
  }
}

const literalChecks: Readonly<Record<string, (text: string) => unknown>> = {
  timestamp: parseTimestamp,
  duration: parseDuration,
  matches(pattern) {
    const problem = regexError(pattern)
    if (problem !== undefined) throw new Error(problem)
  },
}

function checkCall(expr: Expr & { kind: 'call' }, checked: CheckedExpr, findings: Finding[]): void {
  const argument = expr.args.at(-1)
  const check = Object.hasOwn(literalChecks, expr.name) ? literalChecks[expr.name] : undefined
  if (check !== undefined && argument?.kind === 'literal' && typeof argument.value === 'string') {
    try {
      check(argument.value)
    } catch {
      findings.push({ summary: `invalid ${expr.name} argument`, at: argument.at })
    }
  }
  if (expr.name !== 'format' || !expr.member) return
  const [format, list] = expr.args
  if (format?.kind !== 'literal' || typeof format.value !== 'string' || list?.kind !== 'list') return
  const finding = formatFinding(format.value, list.items, expr, checked)
  if (finding !== undefined) findings.push(finding)
}

const anything = (): boolean => true
const kinds =
  (...names: CelType['kind'][]) =>
  ({ kind }: CelType): boolean =>
    names.includes(kind) || kind === 'dyn'

/** Which types a clause takes, and what is said of others. */
const clauses: Readonly<Record<string, readonly [(type: CelType) => boolean, string]>> = {
  s: [anything, ''],
  d: [kinds('int', 'uint'), 'decimal clause can only be used on integers'],
  f: [kinds('double', 'string'), 'fixed-point clause can only be used on doubles'],
  e: [kinds('double', 'string'), 'scientific clause can only be used on doubles'],
  b: [kinds('int', 'uint', 'bool'), 'only integers and bools can be formatted as binary'],
  x: [kinds('int', 'uint', 'string', 'bytes'), 'only integers, byte buffers, and strings can be formatted as hex'],
  X: [kinds('int', 'uint', 'string', 'bytes'), 'only integers, byte buffers, and strings can be formatted as hex'],
  o: [kinds('int', 'uint'), 'octal clause can only be used on integers'],
}

function formatFinding(format: string, items: readonly Expr[], call: Expr, checked: CheckedExpr): Finding | undefined {
  let index = 0
  for (const [whole, clause] of format.matchAll(/%(?:\.\d+)?(.)/gs)) {
    if (whole === '%%') continue
    if (!Object.hasOwn(clauses, clause!)) {
      const summary = `could not parse formatting clause: unrecognized formatting clause ${JSON.stringify(clause)}`
      return { summary, at: call.at }
    }
    const item = items[index]
    if (item === undefined) return { summary: `index ${index} out of range`, at: call.at }
    const [fits, complaint] = clauses[clause!]!
    const type = checked.typeOf(item)
    if (!fits(type)) {
      return { summary: `error during formatting: ${complaint}, was given ${typeText(type)}`, at: item.at }
    }
    index++
  }
  return undefined
}
