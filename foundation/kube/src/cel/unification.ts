// Type inference: what type variables stand for, found out one comparison at a time. The rules are cel-go's, down to what null fits.
import { listOf, mapOf, optionalOf, types } from './types.ts'
import type { CelType } from './types.ts'

type Parts = readonly CelType[]

/** What the variables of one expression stand for. A comparison that fails leaves no trace. */
export class Unifier {
  readonly #bound = new Map<string, CelType>()
  /** Bindings of the comparison under way, each with what it replaces. */
  #trail: (readonly [string, CelType | undefined])[] = []
  #variables = 0

  /** A new type variable. */
  variable(): CelType {
    return { kind: 'param', name: `_var${this.#variables++}` }
  }

  /** The parts of a signature with variables of their own. */
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

  /** Values of the first types can stand where the second are asked for. */
  assignAll(given: Parts, wanted: Parts): boolean {
    this.#trail = []
    if (this.#assignParts(given, wanted)) return true
    for (const [name, before] of this.#trail.toReversed()) {
      if (before === undefined) this.#bound.delete(name)
      else this.#bound.set(name, before)
    }
    return false
  }

  /** A value of one type can stand where the other is asked for. */
  assign(given: CelType, wanted: CelType): boolean {
    return this.assignAll([given], [wanted])
  }

  /** The type with its variables replaced as far as they are known; the rest becomes dyn when `closed`. */
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

  #assignParts(given: Parts, wanted: Parts): boolean {
    return given.length === wanted.length && given.every((type, i) => this.#assign(type, wanted[i]!))
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
    // A type of a library may have been declared with its fields.
    if (a.kind !== b.kind) return nameOf(a) !== ''
    return this.#assignParts(partsOf(a), partsOf(b))
  }

  /** Whether a variable can stand for a type, and whether it stood for something before. */
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

/** Of two types that fit each other the one that says less. */
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

/** Both are the same type, part by part. */
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
