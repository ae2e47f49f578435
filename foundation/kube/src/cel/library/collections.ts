// Lists, sets, numbers and optional values: Kubernetes' list functions and cel-go's extensions.
import { eachElement, eachPair } from '../call-cost.ts'
import { CelError } from '../errors.ts'
import { Library } from '../library.ts'
import { Duration, MapValue, Optional, Timestamp, Uint, celEquals, isList, numeric } from '../values.ts'
import type { CelValue } from '../values.ts'
import { checkedInt } from './standard.ts'

type List = readonly CelValue[]

function compareValues(a: CelValue, b: CelValue): number {
  const [left, right] = [comparable(a), comparable(b)]
  if (typeof left === 'string' && typeof right === 'string')
    return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : left > right ? 1 : 0
}

function comparable(value: CelValue): bigint | number | string {
  const number = numeric(value)
  if (number !== undefined) return number
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Timestamp || value instanceof Duration) return value.nanos
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  throw new CelError('no such overload')
}

function isSorted(list: List): boolean {
  return list.every((item, i) => i === 0 || compareValues(list[i - 1]!, item) <= 0)
}

function extreme(name: string, sign: number): (list: List) => CelValue {
  return (list) => {
    if (list.length === 0) throw new CelError(`${name} called on empty list`)
    return list.reduce((best, item) => (compareValues(item, best) * sign > 0 ? item : best))
  }
}

function flatten(list: List, depth: bigint = 1n): CelValue[] {
  if (depth < 0n) throw new CelError('level must be non-negative')
  return list.flatMap((item) => (isList(item) && depth > 0n ? flatten(item, depth - 1n) : [item]))
}

function slice(list: List, start: bigint, end: bigint): List {
  if (start < 0n || end < 0n) throw new CelError(`cannot slice(${start}, ${end}), negative indexes not supported`)
  if (start > end)
    throw new CelError(`cannot slice(${start}, ${end}), start index must be less than or equal to end index`)
  if (end > BigInt(list.length)) throw new CelError(`cannot slice(${start}, ${end}), list is length ${list.length}`)
  return list.slice(Number(start), Number(end))
}

function distinct(list: List): CelValue[] {
  const out: CelValue[] = []
  for (const item of list) if (!out.some((other) => celEquals(item, other))) out.push(item)
  return out
}

/** The maximum length of `lists.range`. */
const maxRange = 100_000n

function range(count: bigint): CelValue[] {
  if (count > maxRange) throw new CelError(`lists.range(${count}): no more than ${maxRange} elements`)
  return Array.from({ length: Math.max(0, Number(count)) }, (_, i) => BigInt(i))
}

function lists(library: Library): void {
  for (const type of ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes']) {
    library
      .define(`list<${type}>.isSorted(): bool`, isSorted, eachElement)
      .define(`list<${type}>.min(): ${type}`, extreme('min', -1), eachElement)
      .define(`list<${type}>.max(): ${type}`, extreme('max', 1), eachElement)
      .define(`list<${type}>.sort(): list<${type}>`, (list: List) => [...list].sort(compareValues), eachPair)
  }
  const total = (list: List): bigint => list.reduce<bigint>((sum, item) => sum + BigInt(numeric(item) ?? 0), 0n)
  library
    .define('list<int>.sum(): int', (list: List) => checkedInt(total(list)), eachElement)
    .define('list<uint>.sum(): uint', (list: List) => new Uint(total(list)), eachElement)
    .define('list<double>.sum(): double', (list: readonly number[]) => list.reduce((a, b) => a + b, 0), eachElement)
    .define(
      'list<duration>.sum(): duration',
      (list: readonly Duration[]) => new Duration(checkedInt(list.reduce((a, b) => a + b.nanos, 0n))),
      eachElement,
    )
    .define(
      'list<A>.indexOf(A): int',
      (list: List, item: CelValue) => BigInt(list.findIndex((other) => celEquals(other, item))),
      eachElement,
    )
    .define(
      'list<A>.lastIndexOf(A): int',
      (list: List, item: CelValue) => BigInt(list.findLastIndex((other) => celEquals(other, item))),
      eachElement,
    )
    .define('list<A>.slice(int, int): list<A>', slice, eachElement)
    .define('list<A>.flatten(): list<dyn>', (list: List) => flatten(list), eachElement)
    .define('list<A>.flatten(int): list<dyn>', flatten, eachElement)
    .define('list<A>.distinct(): list<A>', distinct, eachPair)
    .define('list<A>.reverse(): list<A>', (list: List) => [...list].reverse(), eachElement)
    .define('list<A>.first(): optional<A>', (list: List) => new Optional(list[0]))
    .define('list<A>.last(): optional<A>', (list: List) => new Optional(list.at(-1)))
    .define('lists.range(int): list<int>', range)
}

function sets(library: Library): void {
  const holds = (list: List, item: CelValue): boolean => list.some((other) => celEquals(other, item))
  const contains = (list: List, part: List): boolean => part.every((item) => holds(list, item))
  library
    .define('sets.contains(list<A>, list<A>): bool', contains, eachPair)
    .define('sets.equivalent(list<A>, list<A>): bool', (a: List, b: List) => contains(a, b) && contains(b, a), eachPair)
    .define('sets.intersects(list<A>, list<A>): bool', (a: List, b: List) => a.some((item) => holds(b, item)), eachPair)
}

function extremeOf(sign: number): (...values: CelValue[]) => CelValue {
  return (...values) => {
    const [first] = values
    const all = values.length === 1 && isList(first!) ? first : values
    if (all.length === 0) throw new CelError(`math.@${sign > 0 ? 'max' : 'min'}(list) argument must not be empty`)
    for (const value of all) if (numeric(value) === undefined) throw new CelError('no such overload')
    return all.reduce((best, value) => (compareValues(value, best) * sign > 0 ? value : best))
  }
}

function shift(value: bigint, by: bigint, left: boolean): bigint {
  if (by < 0n) throw new CelError(`math.bitShift${left ? 'Left' : 'Right'}() negative offset: ${by}`)
  if (by > 63n) return 0n
  return BigInt.asIntN(64, left ? value << by : BigInt.asUintN(64, value) >> by)
}

/** Rounds half away from zero. */
function round(value: number): number {
  return Math.sign(value) * Math.floor(Math.abs(value) + 0.5)
}

function math(library: Library): void {
  for (const arity of [1, 2, 3, 4, 5, 6]) {
    const parameters = Array<string>(arity).fill('dyn').join(', ')
    library
      .define(`math.greatest(${parameters}): dyn`, extremeOf(1))
      .define(`math.least(${parameters}): dyn`, extremeOf(-1))
  }
  library
    .define('math.ceil(double): double', (a: number) => Math.ceil(a))
    .define('math.floor(double): double', (a: number) => Math.floor(a))
    .define('math.round(double): double', round)
    .define('math.trunc(double): double', (a: number) => Math.trunc(a))
    .define('math.abs(double): double', (a: number) => Math.abs(a))
    .define('math.abs(int): int', (a: bigint) => checkedInt(a < 0n ? -a : a))
    .define('math.abs(uint): uint', (a: Uint) => a)
    .define('math.sign(double): double', (a: number) => Math.sign(a))
    .define('math.sign(int): int', (a: bigint) => (a < 0n ? -1n : a > 0n ? 1n : 0n))
    .define('math.sign(uint): uint', (a: Uint) => new Uint(a.value > 0n ? 1n : 0n))
    .define('math.isInf(double): bool', (a: number) => a === Infinity || a === -Infinity)
    .define('math.isNaN(double): bool', (a: number) => Number.isNaN(a))
    .define('math.isFinite(double): bool', (a: number) => Number.isFinite(a))
    .define('math.sqrt(double): double', (a: number) => Math.sqrt(a))
    .define('math.sqrt(int): double', (a: bigint) => Math.sqrt(Number(a)))
    .define('math.sqrt(uint): double', (a: Uint) => Math.sqrt(Number(a.value)))
    .define('math.bitAnd(int, int): int', (a: bigint, b: bigint) => a & b)
    .define('math.bitAnd(uint, uint): uint', (a: Uint, b: Uint) => new Uint(a.value & b.value))
    .define('math.bitOr(int, int): int', (a: bigint, b: bigint) => a | b)
    .define('math.bitOr(uint, uint): uint', (a: Uint, b: Uint) => new Uint(a.value | b.value))
    .define('math.bitXor(int, int): int', (a: bigint, b: bigint) => a ^ b)
    .define('math.bitXor(uint, uint): uint', (a: Uint, b: Uint) => new Uint(a.value ^ b.value))
    .define('math.bitNot(int): int', (a: bigint) => ~a)
    .define('math.bitNot(uint): uint', (a: Uint) => new Uint(BigInt.asUintN(64, ~a.value)))
    .define('math.bitShiftLeft(int, int): int', (a: bigint, b: bigint) => shift(a, b, true))
    .define(
      'math.bitShiftLeft(uint, int): uint',
      (a: Uint, b: bigint) => new Uint(BigInt.asUintN(64, shift(a.value, b, true))),
    )
    .define('math.bitShiftRight(int, int): int', (a: bigint, b: bigint) => shift(a, b, false))
    .define(
      'math.bitShiftRight(uint, int): uint',
      (a: Uint, b: bigint) => new Uint(BigInt.asUintN(64, shift(a.value, b, false))),
    )
}

function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === '') return true
  const number = numeric(value)
  if (number !== undefined) return number === 0 || number === 0n
  if (isList(value) || value instanceof Uint8Array) return value.length === 0
  if (value instanceof MapValue) return value.size === 0
  if (value instanceof Duration) return value.nanos === 0n
  return value instanceof Optional && value.value === undefined
}

function optionals(library: Library): void {
  library
    .define('optional.of(A): optional<A>', (value: CelValue) => new Optional(value))
    .define(
      'optional.ofNonZeroValue(A): optional<A>',
      (value: CelValue) => new Optional(isZero(value) ? undefined : value),
    )
    .define('optional.none(): optional<A>', () => new Optional())
    .define('optional<A>.hasValue(): bool', (option: Optional) => option.value !== undefined)
    .define('optional<A>.value(): A', (option: Optional) => {
      if (option.value === undefined) throw new CelError('optional.none() dereference')
      return option.value
    })
    .define('optional<A>.or(optional<A>): optional<A>', (option: Optional, other: Optional) =>
      option.value === undefined ? other : option,
    )
    .define(
      'optional<A>.orValue(A): A',
      (option: Optional, other: CelValue) => option.value ?? (option.value === null ? null : other),
    )
    .define('optional.unwrap(list<optional<A>>): list<A>', unwrap, eachElement)
    .define('list<optional<A>>.unwrapOpt(): list<A>', unwrap, eachElement)
}

function unwrap(list: readonly Optional[]): CelValue[] {
  return list.flatMap((option) => (option.value === undefined ? [] : [option.value]))
}

/** Returns isSorted to reverse, sets.*, math.*, optional.*. */
export function collectionsLibrary(): Library {
  const library = new Library()
  lists(library)
  sets(library)
  math(library)
  optionals(library)
  return library
}
