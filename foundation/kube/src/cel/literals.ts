// Kubernetes' validators of literals (cel-go's ASTValidators), which run at compile time: lists and maps of mixed
// types, invalid timestamps, durations and patterns, formats that do not match their arguments.
import { regexError } from '../regex.ts'
import type { CheckedExpr } from './checker.ts'
import { CelError } from './errors.ts'
import type { Issue } from './errors.ts'
import { clauseProblem } from './library/string-format.ts'
import { parseDuration } from './library/standard.ts'
import type { Expr } from './syntax.ts'
import { formatType, typeString } from './types.ts'
import type { CelType } from './types.ts'
import { isSame } from './unification.ts'
import { parseTimestamp } from './values.ts'

/** Returns the errors in the literals of a checked expression. */
export function literalIssues(checked: CheckedExpr): Issue[] {
  const issues: Issue[] = []
  visit(checked.root, checked, false, issues)
  return issues
}

const conversions: ReadonlySet<string> = new Set(['int', 'uint', 'double', 'bool', 'string', 'bytes'])

/** Returns the error of a constant call: a conversion of a literal, or a match with an invalid pattern. */
export function constantIssue(expr: Expr, checked: CheckedExpr): Issue | undefined {
  for (const part of partsOf(expr)) {
    const problem = constantIssue(part, checked)
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

/** Visits an expression; `exempt`: inside a call of format, whose arguments may have any type. */
function visit(expr: Expr, checked: CheckedExpr, exempt: boolean, issues: Issue[]): void {
  if (expr.kind === 'call') checkCall(expr, checked, issues)
  if (!exempt) checkAggregate(expr, checked, issues)
  const inside = exempt || (expr.kind === 'call' && expr.name === 'format')
  for (const part of partsOf(expr)) visit(part, checked, inside, issues)
}

/** Returns the direct subexpressions. */
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

function checkAggregate(expr: Expr, checked: CheckedExpr, issues: Issue[]): void {
  const mismatch = (expected: Expr, found: Expr): boolean => {
    const [first, other] = [checked.typeOf(expected), checked.typeOf(found)]
    if (isSame(first, other)) return false
    const summary = `expected type '${formatType(first)}' but found '${formatType(other)}'`
    issues.push({ summary, at: found.at })
    return true
  }
  if (expr.kind === 'list') {
    const [first, ...rest] = expr.items
    // Only the first of another type is reported.
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

function checkCall(expr: Expr & { kind: 'call' }, checked: CheckedExpr, issues: Issue[]): void {
  const argument = expr.args.at(-1)
  const check = Object.hasOwn(literalChecks, expr.name) ? literalChecks[expr.name] : undefined
  if (check !== undefined && argument?.kind === 'literal' && typeof argument.value === 'string') {
    try {
      check(argument.value)
    } catch {
      issues.push({ summary: `invalid ${expr.name} argument`, at: argument.at })
    }
  }
  if (expr.name !== 'format' || !expr.member) return
  const [format, list] = expr.args
  if (format?.kind !== 'literal' || typeof format.value !== 'string' || list?.kind !== 'list') return
  const issue = formatIssue(format.value, list.items, expr, checked)
  if (issue !== undefined) issues.push(issue)
}

const kinds =
  (...names: CelType['kind'][]) =>
  ({ kind }: CelType): boolean =>
    names.includes(kind) || kind === 'dyn'

/** The types that a clause accepts, and the error for others. */
const clauses: Readonly<Record<string, readonly [(type: CelType) => boolean, string]>> = {
  s: [() => true, ''],
  d: [kinds('int', 'uint'), 'decimal clause can only be used on integers'],
  f: [kinds('double', 'string'), 'fixed-point clause can only be used on doubles'],
  e: [kinds('double', 'string'), 'scientific clause can only be used on doubles'],
  b: [kinds('int', 'uint', 'bool'), 'only integers and bools can be formatted as binary'],
  x: [kinds('int', 'uint', 'string', 'bytes'), 'only integers, byte buffers, and strings can be formatted as hex'],
  X: [kinds('int', 'uint', 'string', 'bytes'), 'only integers, byte buffers, and strings can be formatted as hex'],
  o: [kinds('int', 'uint'), 'octal clause can only be used on integers'],
}

function formatIssue(format: string, items: readonly Expr[], call: Expr, checked: CheckedExpr): Issue | undefined {
  let index = 0
  for (const [whole, precision, verb = ''] of format.matchAll(/%(?:\.(\d*))?(.?)/gs)) {
    if (whole === '%%') continue
    const problem = clauseProblem(precision, verb)
    if (problem !== undefined) return { summary: problem, at: call.at }
    const item = items[index]
    if (item === undefined) return { summary: `index ${index} out of range`, at: call.at }
    const wrong = verb === 's' ? unprintable(item, checked) : misfit(verb, item, checked)
    if (wrong !== undefined) return wrong
    index++
  }
  if (index === items.length) return undefined
  const summary = `too many arguments supplied to string.format (expected ${index}, got ${items.length})`
  return { summary, at: call.at }
}

function misfit(verb: string, item: Expr, checked: CheckedExpr): Issue | undefined {
  const [fits, complaint] = clauses[verb]!
  const type = checked.typeOf(item)
  if (fits(type)) return undefined
  return { summary: `error during formatting: ${complaint}, was given ${typeString(type)}`, at: item.at }
}

/** Returns the error of an argument of `%s`, or of an item of its list or map, that has no form as a string. */
function unprintable(item: Expr, checked: CheckedExpr): Issue | undefined {
  const type = checked.typeOf(item)
  if (type.kind === 'optional' || type.kind === 'opaque') {
    const given = type.kind === 'optional' ? 'optional_type' : typeString(type)
    return {
      summary: `error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ${given}`,
      at: item.at,
    }
  }
  if (item.kind !== 'list' && item.kind !== 'map') return undefined
  for (const part of partsOf(item)) {
    const problem = unprintable(part, checked)
    if (problem !== undefined) return problem
  }
  return undefined
}
