// Validation of strings and numbers; validate.ts validates their containers.
import { compileRegex } from '../regex.ts'
import type { JsonValue } from '../object.ts'
import { formatCheck } from './format.ts'
import { formatBound, formatGoFloat, isInt64 } from './number-format.ts'
import type { SchemaNode } from './schema-node.ts'
import type { Problem } from './validate.ts'

/** Returns the schema type of a value. Numbers without a fraction are integers. */
export function typeOf(value: JsonValue): 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object' {
  if (value === null) return 'null'
  switch (typeof value) {
    case 'boolean':
      return 'boolean'
    case 'string':
      return 'string'
    case 'number':
    case 'bigint':
      return isInt64(value) ? 'integer' : 'number'
    default:
      return Array.isArray(value) ? 'array' : 'object'
  }
}

/** Checks length and pattern (the first that fails) and format. Lengths count code points. */
export function checkString(value: string, node: SchemaNode, report: (problem: Problem) => void): void {
  if (node.maxLength !== undefined && value.length > node.maxLength && codePoints(value) > node.maxLength) {
    report({ tooLong: node.maxLength })
  } else if (node.minLength !== undefined && codePoints(value) < node.minLength) {
    report({ value, detail: `in body should be at least ${node.minLength} chars long` })
  } else if (node.pattern !== undefined && node.pattern !== '' && !compileRegex(node.pattern).test(value)) {
    report({ value, detail: `in body should match '${node.pattern}'` })
  }
  if (node.format === undefined || node.format === '') return
  if (formatCheck(node.format)?.(value) === false) report({ type: node.format, value })
}

/** Checks multipleOf, maximum and minimum independently. */
export function checkNumber(value: number | bigint, node: SchemaNode, report: (problem: Problem) => void): void {
  // Go has these limits as float64; ours beyond 2^53 are BigInts. Integers are compared with their integer part.
  const isInteger = isInt64(value)
  const [multipleOf, maximum, minimum] = [node.multipleOf, node.maximum, node.minimum].map((limit) =>
    limit === undefined ? undefined : isInteger ? Math.trunc(Number(limit)) : Number(limit),
  )
  if (multipleOf !== undefined) checkMultiple(value, multipleOf, report)
  if (maximum !== undefined) {
    if (node.exclusiveMaximum === true ? value >= maximum : value > maximum) {
      const than = node.exclusiveMaximum === true ? 'less than' : 'less than or equal to'
      report({ value, detail: `in body should be ${than} ${formatBound(maximum, value)}` })
    }
  }
  if (minimum !== undefined) {
    if (node.exclusiveMinimum === true ? value <= minimum : value < minimum) {
      const than = node.exclusiveMinimum === true ? 'greater than' : 'greater than or equal to'
      report({ value, detail: `in body should be ${than} ${formatBound(minimum, value)}` })
    }
  }
}

function checkMultiple(value: number | bigint, factor: number, report: (problem: Problem) => void): void {
  if (factor <= 0) return report({ badFactor: factor })
  const whole = isInt64(value) && Number.isInteger(factor)
  const quotient = factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor
  const isMultiple = whole ? BigInt(value) % BigInt(factor) === 0n : Number.isInteger(quotient)
  if (!isMultiple)
    report({ value, detail: `in body should be a multiple of ${whole ? factor : formatGoFloat(factor)}` })
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}
