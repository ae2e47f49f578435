// Macros over lists and maps (comprehensions): their range and their result.
import { CelError } from './errors.ts'
import type { FoldMacro } from './syntax.ts'
import { MapValue, asBool, formatKey, isList } from './values.ts'
import type { CelValue } from './values.ts'

/** The range of a macro: indices and elements of a list, keys and values of a map. */
export interface Walk {
  readonly length: number
  /** The index or key. */
  key(i: number): CelValue
  /** The element or value. */
  value(i: number): CelValue
  /** The value of a single variable: elements of lists, keys of maps. */
  single(i: number): CelValue
}

/** Iterates over a value. @throws CelError when it is neither a list nor a map */
export function walkOf(range: CelValue): Walk {
  if (isList(range)) {
    const value = (i: number): CelValue => range[i]!
    return { length: range.length, key: BigInt, value, single: value }
  }
  if (range instanceof MapValue) {
    const entries = [...range.entries()]
    const key = (i: number): CelValue => entries[i]![0]
    return { length: entries.length, key, value: (i) => entries[i]![1], single: key }
  }
  throw new CelError('no such overload')
}

/** An iteration: {@link Loop.enter} advances, the other methods read the current element. */
export interface Loop {
  readonly length: number
  key(i: number): CelValue
  /** Sets the variables to the element; false when the filter excludes it. */
  enter(i: number): boolean
  current(): CelValue
  body(): CelValue
}

/** The result of a macro from an iteration. */
type Fold = (loop: Loop) => CelValue

/** An element that decides the result overrides errors of others; without one the first error is thrown. */
function quantifier(decisive: boolean): Fold {
  return (loop) => {
    let failure: CelError | undefined
    for (let i = 0; i < loop.length; i++) {
      try {
        loop.enter(i)
        if (asBool(loop.body()) === decisive) return decisive
      } catch (error) {
        if (!(error instanceof CelError)) throw error
        failure ??= error
      }
    }
    if (failure !== undefined) throw failure
    return !decisive
  }
}

function collect(pick: (loop: Loop) => CelValue): Fold {
  return (loop) => {
    const out: CelValue[] = []
    for (let i = 0; i < loop.length; i++) if (loop.enter(i)) out.push(pick(loop))
    return out
  }
}

/** The macros by name. */
export const folds: Readonly<Record<FoldMacro, Fold>> = {
  all: quantifier(false),
  exists: quantifier(true),
  exists_one: (loop) => {
    let count = 0
    for (let i = 0; i < loop.length; i++) {
      loop.enter(i)
      if (asBool(loop.body())) count++
    }
    return count === 1
  },
  map: collect((loop) => loop.body()),
  transformList: collect((loop) => loop.body()),
  filter: (loop) => {
    const out: CelValue[] = []
    for (let i = 0; i < loop.length; i++) {
      loop.enter(i)
      const element = loop.current()
      if (asBool(loop.body())) out.push(element)
    }
    return out
  },
  transformMap: (loop) => {
    const map = new MapValue()
    for (let i = 0; i < loop.length; i++) if (loop.enter(i)) map.set(loop.key(i), loop.body())
    return map
  },
  transformMapEntry: (loop) => {
    const map = new MapValue()
    for (let i = 0; i < loop.length; i++) {
      if (!loop.enter(i)) continue
      const entry = loop.body()
      if (!(entry instanceof MapValue)) throw new CelError('no such overload')
      for (const [key, value] of entry.entries()) {
        if (map.has(key)) throw new CelError(`insert failed: key ${formatKey(key)} already exists`)
        map.set(key, value)
      }
    }
    return map
  },
}
