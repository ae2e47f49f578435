// The types of CEL. Types are compared by structure; objects by name.

/**
 * A type of CEL. `param` is a type variable, `opaque` a type of a library (`net.IP`),
 * `error` the type of an expression with an error.
 */
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
        | 'error'
    }
  | { readonly kind: 'list'; readonly element: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  | { readonly kind: 'object'; readonly name: string; readonly fields: ReadonlyMap<string, CelType> }
  | { readonly kind: 'optional'; readonly of: CelType }
  | { readonly kind: 'opaque'; readonly name: string }
  | { readonly kind: 'param'; readonly name: string }

/** The types without parameters. */
export const types: Readonly<
  Record<
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
    | 'error',
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
  error: { kind: 'error' },
}

/** The names of types that are values. */
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

/** An object with declared fields; other fields are errors. */
export function objectOf(name: string, fields: ReadonlyMap<string, CelType>): CelType {
  return { kind: 'object', name, fields }
}

/** A type of a library, with only a name. */
export function opaque(name: string): CelType {
  return { kind: 'opaque', name }
}

/** Formats a type as the messages of the checker do. */
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
    case 'error':
      return '!error!'
    default:
      return type.kind
  }
}

const valueTypeNames: Readonly<Partial<Record<CelType['kind'], string>>> = {
  null: 'null_type',
  timestamp: 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
}

/**
 * Formats a type by the name that it has as a value (`type(x)`), as cel-go names result types; its checker has shorter
 * names.
 */
export function typeString(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeString(type.element)})`
    case 'map':
      return `map(${typeString(type.key)}, ${typeString(type.value)})`
    case 'optional':
      return `optional_type(${typeString(type.of)})`
    default:
      return valueTypeNames[type.kind] ?? formatType(type)
  }
}

/** Reports whether the type, or a part of it, is known only at run time. */
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

/** Parses a type of a signature: `list<A>`, `map<string, int>`, `net.IP`; a single capital is a type variable. */
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

/** Splits a list of types at its outer commas. */
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
