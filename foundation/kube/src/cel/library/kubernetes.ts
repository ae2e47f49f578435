// Kubernetes' own libraries: regex, quantity, url, format, semver. IP addresses are in addresses.ts.
import { addQuantities, compareQuantities, formatQuantity, parseQuantity, subtractQuantities } from '../../quantity.ts'
import type { Quantity } from '../../quantity.ts'
import { parseGoUrl, requestUriProblem } from '../../go-url.ts'
import { compileRegex } from '../../regex.ts'
import * as names from '../../names.ts'
import { formatMatch, match, traversal } from '../call-cost.ts'
import { CelError } from '../errors.ts'
import { Library } from '../library.ts'
import { MapValue, OpaqueValue, Optional } from '../values.ts'
import type { CelValue } from '../values.ts'

/** Calls `run`; its errors become evaluation errors. */
function guarded<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw error instanceof CelError ? error : new CelError((error as Error).message)
  }
}

/** Reports whether `run` does not throw. */
export function succeeds(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch {
    return false
  }
}

function regex(library: Library): void {
  library
    .define(
      'string.find(string): string',
      (text: string, pattern: string) => guarded(() => compileRegex(pattern).find(text) ?? ''),
      match,
    )
    .define(
      'string.findAll(string): list<string>',
      (text: string, pattern: string) => guarded(() => compileRegex(pattern).findAll(text)),
      match,
    )
    .define(
      'string.findAll(string, int): list<string>',
      (text: string, pattern: string, limit: bigint) =>
        guarded(() => compileRegex(pattern).findAll(text, limit < 0n ? Infinity : Number(limit))),
      match,
    )
}

type QuantityValue = OpaqueValue<Quantity>

function quantityValue(quantity: Quantity): QuantityValue {
  // Equality compares amounts, not strings.
  return new OpaqueValue('kubernetes.Quantity', quantity, String(quantity.nanos))
}

function ofInt(value: bigint): Quantity {
  return { nanos: value * 1_000_000_000n, format: 'DecimalSI' }
}

function quantities(library: Library): void {
  const compare = (a: QuantityValue, b: QuantityValue): number => compareQuantities(a.value, b.value)
  const asInteger = ({ value }: QuantityValue): bigint => {
    const integer = value.nanos / 1_000_000_000n
    if (value.nanos % 1_000_000_000n !== 0n || BigInt.asIntN(64, integer) !== integer)
      throw new CelError('cannot convert value to integer')
    return integer
  }
  const q = 'kubernetes.Quantity'
  const signOf = ({ value }: QuantityValue): bigint => (value.nanos < 0n ? -1n : value.nanos > 0n ? 1n : 0n)
  library
    .define(`quantity(string): ${q}`, (text: string) => quantityValue(guarded(() => parseQuantity(text))), traversal)
    .define('isQuantity(string): bool', (text: string) => succeeds(() => parseQuantity(text)), traversal)
    .define(`${q}.sign(): int`, signOf)
    .define(`sign(${q}): int`, signOf)
    .define(`${q}.isInteger(): bool`, (a: QuantityValue) => succeeds(() => asInteger(a)))
    .define(`${q}.asInteger(): int`, asInteger)
    .define(`${q}.asApproximateFloat(): double`, (a: QuantityValue) => Number(a.value.nanos) / 1e9)
    .define(`${q}.add(${q}): ${q}`, (a: QuantityValue, b: QuantityValue) =>
      quantityValue(addQuantities(a.value, b.value)),
    )
    .define(`${q}.add(int): ${q}`, (a: QuantityValue, b: bigint) => quantityValue(addQuantities(a.value, ofInt(b))))
    .define(`${q}.sub(${q}): ${q}`, (a: QuantityValue, b: QuantityValue) =>
      quantityValue(subtractQuantities(a.value, b.value)),
    )
    .define(`${q}.sub(int): ${q}`, (a: QuantityValue, b: bigint) =>
      quantityValue(subtractQuantities(a.value, ofInt(b))),
    )
    .define(`${q}.isGreaterThan(${q}): bool`, (a: QuantityValue, b: QuantityValue) => compare(a, b) > 0)
    .define(`${q}.isLessThan(${q}): bool`, (a: QuantityValue, b: QuantityValue) => compare(a, b) < 0)
    .define(`${q}.compareTo(${q}): int`, (a: QuantityValue, b: QuantityValue) => BigInt(compare(a, b)))
    .define(`string(${q}): string`, (a: QuantityValue) => formatQuantity(a.value))
}

interface Url {
  readonly scheme: string
  readonly host: string
  readonly hostname: string
  readonly port: string
  readonly path: string
  readonly query: ReadonlyMap<string, readonly string[]>
}

type UrlValue = OpaqueValue<Url>

const urlForm =
  /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/(?:[^/?]*@)?(\[[^\]/?]*\](?::\d*)?|[^/?:]*(?::\d*)?))?(\/[^?]*|)(?:\?(.*))?$/

/** Parses a request URI: absolute, or a path from the root. */
function parseUrl(text: string): Url {
  const whole = parseGoUrl(text)
  const problem = requestUriProblem(text) ?? (typeof whole === 'string' ? whole : undefined)
  if (problem !== undefined) throw new CelError(`URL parse error during conversion from string: ${problem}`)
  const [, scheme = '', host = '', path = '', search = ''] = urlForm.exec(text.replace(/#.*$/s, '')) ?? []
  const query = new Map<string, string[]>()
  // Go drops parts with a semicolon.
  const parts = search.split('&').filter((part) => !part.includes(';'))
  for (const [key, value] of new URLSearchParams(parts.join('&'))) query.set(key, [...(query.get(key) ?? []), value])
  const [, hostname = '', port = ''] = /^(.*?)(?::(\d*))?$/.exec(host)!
  const escaped = path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/g, (character) => encodeURIComponent(character))
  return {
    scheme: scheme.toLowerCase(),
    host,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    path: escaped,
    query,
  }
}

function urls(library: Library): void {
  const u = 'kubernetes.URL'
  library
    .define(`url(string): ${u}`, (text: string) => new OpaqueValue(u, parseUrl(text), text), traversal)
    .define('isURL(string): bool', (text: string) => succeeds(() => parseUrl(text)), traversal)
    .define(`${u}.getScheme(): string`, ({ value }: UrlValue) => value.scheme)
    .define(`${u}.getHost(): string`, ({ value }: UrlValue) => value.host)
    .define(`${u}.getHostname(): string`, ({ value }: UrlValue) => value.hostname)
    .define(`${u}.getPort(): string`, ({ value }: UrlValue) => value.port)
    .define(`${u}.getEscapedPath(): string`, ({ value }: UrlValue) => value.path)
    .define(`${u}.getQuery(): map<string, list<string>>`, ({ value }: UrlValue) =>
      MapValue.of([...value.query].map(([key, values]) => [key, [...values]] as const)),
    )
}

/** Reports whether a string is a date of the calendar: JavaScript reads 2001-02-30 as one in March. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/** Returns a generateName with its trailing dash, and what is before it, masked, as Kubernetes checks it. */
function maskedPrefix(text: string): string {
  return text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text
}

/** The named formats of Kubernetes, each with its validation of a string. */
const formats: Readonly<Record<string, (text: string) => readonly string[]>> = {
  dns1123Label: names.dns1123Label,
  dns1123Subdomain: names.dns1123Subdomain,
  dns1035Label: names.dns1035Label,
  qualifiedName: names.qualifiedName,
  dns1123LabelPrefix: (text) => names.dns1123Label(maskedPrefix(text)),
  dns1123SubdomainPrefix: (text) => names.dns1123Subdomain(maskedPrefix(text)),
  dns1035LabelPrefix: (text) => names.dns1035Label(maskedPrefix(text)),
  labelValue: names.labelValue,
  uri: (text) => [requestUriProblem(text) ?? []].flat(),
  uuid: (text) =>
    /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text)
      ? []
      : ['does not match the UUID format'],
  byte: (text) =>
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text) ? [] : ['invalid base64'],
  date: (text) => (isDate(text) ? [] : ['invalid date']),
  datetime: (text) =>
    /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text) &&
    isDate(text.slice(0, 10)) &&
    !Number.isNaN(Date.parse(text))
      ? []
      : ['invalid datetime'],
}

type Format = OpaqueValue<(text: string) => readonly string[]>

function namedFormats(library: Library): void {
  const f = 'kubernetes.NamedFormat'
  const valueOf = (name: string): Format => new OpaqueValue(f, formats[name]!, name)
  for (const name of Object.keys(formats)) library.define(`format.${name}(): ${f}`, () => valueOf(name))
  library
    .define(
      `format.named(string): optional<${f}>`,
      (name: string) => new Optional(Object.hasOwn(formats, name) ? valueOf(name) : undefined),
    )
    .define(
      `${f}.validate(string): optional<list<string>>`,
      (format: Format, text: string) => {
        const errors = format.value(text)
        return new Optional(errors.length === 0 ? undefined : [...errors])
      },
      formatMatch,
    )
}

interface Semver {
  readonly numbers: readonly [bigint, bigint, bigint]
  readonly pre: readonly string[]
}

type SemverValue = OpaqueValue<Semver>

const number = '(0|[1-9]\\d*)'
const semverForm = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+[0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*)?$`,
)

function parseSemver(text: string, normalize: boolean): SemverValue {
  const found = semverForm.exec(normalize ? normalizedVersion(text) : text)
  if (found === null) throw new CelError('No Major.Minor.Patch elements found')
  const [major, minor, patch] = [found[1]!, found[2]!, found[3]!].map(BigInt) as [bigint, bigint, bigint]
  const pre = found[4]?.split('.') ?? []
  return new OpaqueValue(
    'kubernetes.Semver',
    { numbers: [major, minor, patch], pre },
    [major, minor, patch, ...pre].join('.'),
  )
}

/** Returns a version without a leading v and leading zeros, and with the missing parts. */
function normalizedVersion(text: string): string {
  const [, core, rest] = /^v?([^-+]*)(.*)$/s.exec(text)!
  const parts = core!.split('.').map((part) => part.replace(/^0+(?=\d)/, ''))
  while (parts.length < 3) parts.push('0')
  return parts.join('.') + rest!
}

function compareSemver({ value: a }: SemverValue, { value: b }: SemverValue): number {
  for (const [i, part] of a.numbers.entries()) if (part !== b.numbers[i]) return part < b.numbers[i]! ? -1 : 1
  if (a.pre.length === 0 || b.pre.length === 0) return Math.sign(b.pre.length - a.pre.length)
  for (const [i, part] of a.pre.entries()) {
    const other = b.pre[i]
    if (other === undefined) return 1
    const order = comparePrerelease(part, other)
    if (order !== 0) return order
  }
  return a.pre.length < b.pre.length ? -1 : 0
}

function comparePrerelease(a: string, b: string): number {
  const [left, right] = [a, b].map((part) => (/^\d+$/.test(part) ? BigInt(part) : undefined))
  if (left !== undefined && right !== undefined) return left < right ? -1 : left > right ? 1 : 0
  if (left !== undefined) return -1
  return right !== undefined ? 1 : a < b ? -1 : a > b ? 1 : 0
}

function versions(library: Library): void {
  const s = 'kubernetes.Semver'
  const part =
    (i: 0 | 1 | 2) =>
    ({ value }: SemverValue): CelValue =>
      value.numbers[i]
  const parse = (text: string, normalize: boolean = false): SemverValue => parseSemver(text, normalize)
  const isSemver = (text: string, normalize: boolean = false): boolean => succeeds(() => parseSemver(text, normalize))
  library
    .define(`semver(string): ${s}`, parse, traversal)
    .define(`semver(string, bool): ${s}`, parse, traversal)
    .define('isSemver(string): bool', isSemver, traversal)
    .define('isSemver(string, bool): bool', isSemver, traversal)
    .define(`${s}.major(): int`, part(0))
    .define(`${s}.minor(): int`, part(1))
    .define(`${s}.patch(): int`, part(2))
    .define(`${s}.isGreaterThan(${s}): bool`, (a: SemverValue, b: SemverValue) => compareSemver(a, b) > 0)
    .define(`${s}.isLessThan(${s}): bool`, (a: SemverValue, b: SemverValue) => compareSemver(a, b) < 0)
    .define(`${s}.compareTo(${s}): int`, (a: SemverValue, b: SemverValue) => BigInt(compareSemver(a, b)))
}

/** Returns find, quantity, url, format and semver. */
export function kubernetesLibrary(): Library {
  const library = new Library()
  regex(library)
  quantities(library)
  urls(library)
  namedFormats(library)
  versions(library)
  return library
}
