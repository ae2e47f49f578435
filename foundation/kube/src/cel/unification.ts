// Type inference by unification of type variables. The rules are cel-go's, including the types that null is assignable
// to.
import { listOf, mapOf, optionalOf, types } from './types.ts'
import type { CelType } from './types.ts'

type Parts = readonly CelType[]

/** The bindings of type variables in one expression. A failed assignment is rolled back. */
export class Unifier {
  readonly #bound = new Map<string, CelType>()
  /** The bindings of the current assignment, each with the type that it replaces. */
  #trail: (readonly [string, CelType | undefined])[] = []
  #variables = 0

  /** Creates a type variable. */
  variable(): CelType {
    return { kind: 'param', name: `_var${this.#variables++}` }
  }

  /** Returns a signature with fresh type variables. */
  instantiate(signature: Parts): CelType[] {
    const fresh = new Map<string, CelType>()
    const replace = (type: CelType): CelType => {
      if (type.kind !== 'param') return mapParts(type, replace)
      const known = fresh.get(type.name) ?? this.variable()
      fresh.set(type.name, known)
      return known
    }
    return signature.map(replace)
  }

  /** Reports whether the given types are assignable to the expected ones, and binds their variables. */
  assignAll(given: Parts, expected: Parts): boolean {
    this.#trail = []
    if (this.#assignParts(given, expected)) return true
    for (const [name, before] of this.#trail.toReversed()) {
      if (before === undefined) this.#bound.delete(name)
      else this.#bound.set(name, before)
    }
    return false
  }

  /** Reports whether a type is assignable to the expected one, and binds its variables. */
  assign(given: CelType, expected: CelType): boolean {
    return this.assignAll([given], [expected])
  }

  /** Replaces the bound variables of a type; unbound ones become dyn when `closed`. */
  resolve(type: CelType, closed = false): CelType {
    const bound = type.kind === 'param' ? this.#bound.get(type.name) : undefined
    if (bound !== undefined) return this.resolve(bound, closed)
    if (type.kind === 'param') return closed ? types.dyn : type
    return mapParts(type, (part) => this.resolve(part, closed))
  }

  #bind(name: string, type: CelType): void {
    this.#trail.push([name, this.#bound.get(name)])
    this.#bound.set(name, type)
  }

  #assignParts(given: Parts, expected: Parts): boolean {
    return given.length === expected.length && given.every((type, i) => this.#assign(type, expected[i]!))
  }

  #assign(a: CelType, b: CelType): boolean {
    if (b.kind === 'param') {
      const { valid, known } = this.#substitutes(a, b)
      if (valid || known) return valid
    }
    if (a.kind === 'param') return this.#substitutes(b, a).valid
    if (isOpen(a) || isOpen(b)) return true
    if (a.kind === 'null') return isNullable(b)
    if (b.kind === 'null') return isNullable(a)
    if (nameOf(a) !== nameOf(b)) return false
    // A type of a library may be declared with its fields.
    if (a.kind !== b.kind) return nameOf(a) !== ''
    return this.#assignParts(partsOf(a), partsOf(b))
  }

  /** Binds a variable to a type, if its current binding allows that. */
  #substitutes(type: CelType, variable: CelType & { kind: 'param' }): { valid: boolean; known: boolean } {
    if (type.kind === 'param' && type.name === variable.name) return { valid: true, known: true }
    const bound = this.#bound.get(variable.name)
    if (bound === undefined) {
      if (this.#occurs(variable.name, type)) return { valid: false, known: false }
      this.#bind(variable.name, type)
      return { valid: true, known: false }
    }
    if (isSame(type, bound)) return { valid: true, known: true }
    if (!this.#assign(type, bound)) return { valid: false, known: true }
    const general = mostGeneral(type, bound)
    if (!this.#occurs(variable.name, general)) this.#bind(variable.name, general)
    return { valid: true, known: true }
  }

  #occurs(name: string, type: CelType): boolean {
    if (type.kind !== 'param') return partsOf(type).some((part) => this.#occurs(name, part))
    if (type.name === name) return true
    const bound = this.#bound.get(type.name)
    return bound !== undefined && this.#occurs(name, bound)
  }
}

/** Returns the more general of two types that are assignable to each other. */
export function mostGeneral(a: CelType, b: CelType): CelType {
  return isLessSpecific(a, b) ? a : b
}

function isLessSpecific(a: CelType, b: CelType): boolean {
  if (a.kind === 'dyn' || a.kind === 'param') return true
  if (b.kind === 'dyn' || b.kind === 'param') return false
  if (a.kind !== b.kind || nameOf(a) !== nameOf(b)) return false
  const others = partsOf(b)
  return partsOf(a).every((part, i) => isLessSpecific(part, others[i]!))
}

/** Reports whether both types are equal in structure. */
export function isSame(a: CelType, b: CelType): boolean {
  if (a.kind !== b.kind || nameOf(a) !== nameOf(b)) return false
  const others = partsOf(b)
  return partsOf(a).every((part, i) => isSame(part, others[i]!))
}

function isOpen({ kind }: CelType): boolean {
  return kind === 'dyn' || kind === 'error'
}

function isNullable({ kind }: CelType): boolean {
  return ['null', 'object', 'timestamp', 'duration', 'opaque', 'optional'].includes(kind)
}

function nameOf(type: CelType): string {
  return 'name' in type ? type.name : ''
}

function partsOf(type: CelType): Parts {
  switch (type.kind) {
    case 'list':
      return [type.element]
    case 'map':
      return [type.key, type.value]
    case 'optional':
      return [type.of]
    default:
      return []
  }
}

function mapParts(type: CelType, change: (part: CelType) => CelType): CelType {
  switch (type.kind) {
    case 'list':
      return listOf(change(type.element))
    case 'map':
      return mapOf(change(type.key), change(type.value))
    case 'optional':
      return optionalOf(change(type.of))
    default:
      return type
  }
}
