// The types of CEL: what the checker reasons about. Types are compared by structure; objects by name.

/** A type of CEL. `param` stands for a type variable in the signature of a function; `opaque` for types of libraries (`net.IP`). */
export type CelType =
  | {
      readonly kind:
        | 'bool'
        | 'int'
        | 'uint'
        | 'double'
        | 'string'
        | 'bytes'
        | 'null'
        | 'dyn'
        | 'timestamp'
        | 'duration'
        | 'type'
    }
  | { readonly kind: 'list'; readonly element: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  | { readonly kind: 'object'; readonly name: string; readonly fields: ReadonlyMap<string, CelType> }
  | { readonly kind: 'optional'; readonly of: CelType }
  | { readonly kind: 'opaque'; readonly name: string }
  | { readonly kind: 'param'; readonly name: string }

/** The types without parts. */
export const types: Readonly<
  Record<
    'bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'null' | 'dyn' | 'timestamp' | 'duration' | 'type',
    CelType
  >
> = {
  bool: { kind: 'bool' },
  int: { kind: 'int' },
  uint: { kind: 'uint' },
  double: { kind: 'double' },
  string: { kind: 'string' },
  bytes: { kind: 'bytes' },
  null: { kind: 'null' },
  dyn: { kind: 'dyn' },
  timestamp: { kind: 'timestamp' },
  duration: { kind: 'duration' },
  type: { kind: 'type' },
}

/** Names that stand for types as values. */
export const typeNames: ReadonlySet<string> = new Set(
  'bool int uint double string bytes list map null_type type optional_type google.protobuf.Timestamp google.protobuf.Duration net.IP net.CIDR'.split(
    ' ',
  ),
)

/** `list(T)`. */
export function listOf(element: CelType): CelType {
  return { kind: 'list', element }
}

/** `map(K, V)`. */
export function mapOf(key: CelType, value: CelType): CelType {
  return { kind: 'map', key, value }
}

/** `optional_type(T)`. */
export function optionalOf(of: CelType): CelType {
  return { kind: 'optional', of }
}

/** An object with declared fields; anything else of it is an error. */
export function objectOf(name: string, fields: ReadonlyMap<string, CelType>): CelType {
  return { kind: 'object', name, fields }
}

/** A type of a library, known by name only. */
export function opaque(name: string): CelType {
  return { kind: 'opaque', name }
}

/** A type as cel-go prints it. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${formatType(type.element)})`
    case 'map':
      return `map(${formatType(type.key)}, ${formatType(type.value)})`
    case 'optional':
      return `optional_type(${formatType(type.of)})`
    case 'object':
    case 'opaque':
    case 'param':
      return type.name
    case 'timestamp':
      return 'google.protobuf.Timestamp'
    case 'duration':
      return 'google.protobuf.Duration'
    default:
      return type.kind
  }
}

/** What type variables stand for, while a call is matched with a signature. */
export type Bindings = Map<string, CelType>

/** A value of type `actual` can stand where `wanted` is asked for; type variables of `wanted` are bound on the way. */
export function isAssignable(wanted: CelType, actual: CelType, bindings: Bindings = new Map()): boolean {
  if (wanted.kind === 'param') {
    const bound = bindings.get(wanted.name)
    if (bound === undefined || (bound.kind === 'dyn' && actual.kind !== 'dyn')) {
      bindings.set(wanted.name, actual)
      return true
    }
    const joined = join(bound, actual)
    if (joined === undefined) return false
    bindings.set(wanted.name, joined)
    return true
  }
  if (wanted.kind === 'dyn' || actual.kind === 'dyn' || actual.kind === 'param') return true
  if (actual.kind === 'null') return wanted.kind === 'null' || isNullable(wanted)
  switch (wanted.kind) {
    case 'list':
      return actual.kind === 'list' && isAssignable(wanted.element, actual.element, bindings)
    case 'map':
      if (actual.kind === 'object')
        return isAssignable(wanted.key, types.string, bindings) && isAssignable(wanted.value, types.dyn, bindings)
      return (
        actual.kind === 'map' &&
        isAssignable(wanted.key, actual.key, bindings) &&
        isAssignable(wanted.value, actual.value, bindings)
      )
    case 'optional':
      return actual.kind === 'optional' && isAssignable(wanted.of, actual.of, bindings)
    case 'object':
      return actual.kind === 'map' || (actual.kind === 'object' && actual.name === wanted.name)
    case 'opaque':
      return (actual.kind === 'opaque' || actual.kind === 'object') && actual.name === wanted.name
    default:
      return actual.kind === wanted.kind
  }
}

function isNullable(type: CelType): boolean {
  return ['object', 'timestamp', 'duration', 'opaque', 'optional'].includes(type.kind)
}

/** The type that both can be seen as; undefined when they have nothing in common. */
export function join(a: CelType, b: CelType): CelType | undefined {
  if (a.kind === 'param') return b
  if (b.kind === 'param') return a
  if (a.kind === 'dyn' || b.kind === 'dyn') return types.dyn
  if (a.kind === 'null' && isNullable(b)) return b
  if (b.kind === 'null' && isNullable(a)) return a
  if (a.kind === 'list' && b.kind === 'list') return wrapped(join(a.element, b.element), listOf)
  if (a.kind === 'optional' && b.kind === 'optional') return wrapped(join(a.of, b.of), optionalOf)
  if (a.kind === 'map' && b.kind === 'map') {
    const key = join(a.key, b.key)
    const value = join(a.value, b.value)
    return key === undefined || value === undefined ? undefined : mapOf(key, value)
  }
  return isAssignable(a, b) ? a : isAssignable(b, a) ? b : undefined
}

function wrapped(type: CelType | undefined, wrap: (type: CelType) => CelType): CelType | undefined {
  return type === undefined ? undefined : wrap(type)
}

/** The type with its variables replaced; those that nothing binds become dyn. */
export function substitute(type: CelType, bindings: Bindings): CelType {
  switch (type.kind) {
    case 'param':
      return bindings.get(type.name) ?? types.dyn
    case 'list':
      return listOf(substitute(type.element, bindings))
    case 'map':
      return mapOf(substitute(type.key, bindings), substitute(type.value, bindings))
    case 'optional':
      return optionalOf(substitute(type.of, bindings))
    default:
      return type
  }
}

/** Whether it takes a value to tell the type, wholly or in part. */
export function isDynamic(type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return true
    case 'list':
      return isDynamic(type.element)
    case 'map':
      return isDynamic(type.key) || isDynamic(type.value)
    case 'optional':
      return isDynamic(type.of)
    default:
      return false
  }
}

/** A type from its notation in signatures: `list<A>`, `map<string, int>`, `net.IP`; a single capital is a type variable. */
export function parseType(text: string): CelType {
  const trimmed = text.trim()
  const match = /^(list|map|optional)<(.*)>$/s.exec(trimmed)
  if (match !== null) {
    const parts = splitTypes(match[2]!).map(parseType)
    if (match[1] === 'list') return listOf(parts[0]!)
    return match[1] === 'optional' ? optionalOf(parts[0]!) : mapOf(parts[0]!, parts[1]!)
  }
  if (/^[A-Z]$/.test(trimmed)) return { kind: 'param', name: trimmed }
  return Object.hasOwn(types, trimmed) ? types[trimmed as keyof typeof types] : opaque(trimmed)
}

/** Cuts a list of types at its outer commas. */
export function splitTypes(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '<') depth++
    else if (text[at] === '>') depth--
    else if (text[at] === ',' && depth === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  const last = text.slice(start)
  return last.trim() === '' ? parts : [...parts, last]
}
