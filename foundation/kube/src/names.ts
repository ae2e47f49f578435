// Validation of names, labels and keys with Kubernetes' messages; an empty list means valid.
import { createHash } from 'node:crypto'

const labelFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`
const label1035Format = '[a-z]([-a-z0-9]*[a-z0-9])?'
const qualifiedFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const labelValueFormat = `(${qualifiedFormat})?`
const configKeyFormat = '[-._a-zA-Z0-9]+'
const environmentFormat = '[-._a-zA-Z][-._a-zA-Z0-9]*'

const label = new RegExp(`^${labelFormat}$`)
const subdomain = new RegExp(`^${subdomainFormat}$`)
const label1035 = new RegExp(`^${label1035Format}$`)
const qualified = new RegExp(`^${qualifiedFormat}$`)
const labelPattern = new RegExp(`^${labelValueFormat}$`)
const configKeyPattern = new RegExp(`^${configKeyFormat}$`)
const environmentPattern = new RegExp(`^${environmentFormat}$`)
const portNamePattern = /^[-a-z0-9]+$/

/** `must be ...` messages end with examples and the expression; the examples are Kubernetes' own. */
function formatMessage(message: string, format: string, ...examples: readonly string[]): string {
  const list = examples.map((example) => `'${example}'`).join(',  or ')
  const hint = `regex used for validation is '${format}'`
  return examples.length === 0 ? `${message} (${hint})` : `${message} (e.g. ${list}, ${hint})`
}

const labelMessage = formatMessage(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  labelFormat,
  'my-name',
  '123-abc',
)
const subdomainMessage = formatMessage(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomainFormat,
  'example.com',
)
const label1035Message = formatMessage(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  label1035Format,
  'my-name',
  'abc-123',
)
const qualifiedDescription =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
const qualifiedMessage = formatMessage(qualifiedDescription, qualifiedFormat, 'MyName', 'my.name', '123-abc')
const labelValueMessage = formatMessage(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  labelValueFormat,
  'MyValue',
  'my_value',
  '12345',
)
const configKeyMessage = formatMessage(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  configKeyFormat,
  'key.name',
  'KEY_NAME',
  'key-name',
)
const environmentMessage = formatMessage(
  "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
  environmentFormat,
  'my.env-name',
  'MY_ENV.NAME',
  'MyEnvName1',
)

function byteLength(text: string): number {
  return Buffer.byteLength(text)
}

/** A label of RFC 1123, at most 63: names of namespaces, containers and the like. */
export function dns1123Label(name: string): string[] {
  const errors: string[] = []
  if (byteLength(name) > 63) errors.push('must be no more than 63 characters')
  if (!label.test(name)) errors.push(subdomain.test(name) ? 'must not contain dots' : labelMessage)
  return errors
}

/** A subdomain of RFC 1123, at most 253: the names of most objects. */
export function dns1123Subdomain(name: string): string[] {
  const errors: string[] = []
  if (byteLength(name) > 253) errors.push('must be no more than 253 characters')
  if (!subdomain.test(name)) errors.push(subdomainMessage)
  return errors
}

/** A label of RFC 1035, at most 63, starting with a letter: names of services. */
export function dns1035Label(name: string): string[] {
  const errors: string[] = []
  if (byteLength(name) > 63) errors.push('must be no more than 63 characters')
  if (!label1035.test(name)) errors.push(label1035Message)
  return errors
}

/**
 * A label key, annotation key or finalizer: an optional DNS subdomain and `/`, then at most 63 of letters, digits, `-`,
 * `_`, `.`.
 */
export function qualifiedName(key: string): string[] {
  const errors: string[] = []
  const parts = key.split('/')
  let name = key
  if (parts.length === 2) {
    const prefix = parts[0]!
    name = parts[1]!
    if (prefix === '') errors.push('prefix part must be non-empty')
    else errors.push(...dns1123Subdomain(prefix).map((error) => `prefix part ${error}`))
  } else if (parts.length > 2) {
    const message = formatMessage(
      `a valid label key ${qualifiedDescription}`,
      qualifiedFormat,
      'MyName',
      'my.name',
      '123-abc',
    )
    return [`${message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  if (name === '') errors.push('name part must be non-empty')
  else if (byteLength(name) > 63) errors.push('name part must be no more than 63 bytes')
  if (!qualified.test(name)) errors.push(`name part ${qualifiedMessage}`)
  return errors
}

/** The value of a label: empty, or at most 63 of letters, digits, `-`, `_`, `.`. */
export function labelValue(value: string): string[] {
  const errors: string[] = []
  if (byteLength(value) > 63) errors.push('must be no more than 63 bytes')
  if (!labelPattern.test(value)) errors.push(labelValueMessage)
  return errors
}

/** A name that is a valid path segment: RBAC's roles and bindings. */
export function pathSegmentName(name: string): string[] {
  if (name === '.') return ["may not be '.'"]
  if (name === '..') return ["may not be '..'"]
  return ['/', '%'].filter((character) => name.includes(character)).map((character) => `may not contain '${character}'`)
}

/** A key of a ConfigMap or Secret, at most 253. */
export function configMapKey(key: string): string[] {
  const errors: string[] = []
  if (byteLength(key) > 253) errors.push('must be no more than 253 characters')
  if (!configKeyPattern.test(key)) errors.push(configKeyMessage)
  if (key === '.') errors.push("must not be '.'")
  else if (key === '..') errors.push("must not be '..'")
  else if (key.startsWith('..')) errors.push("must not start with '..'")
  return errors
}

/** The name of an environment variable, in the strict form of C identifiers and dots. */
export function environmentName(name: string): string[] {
  const errors: string[] = []
  if (!environmentPattern.test(name)) errors.push(environmentMessage)
  if (name === '.') errors.push("must not be '.'")
  else if (name === '..') errors.push("must not be '..'")
  else if (name.startsWith('..')) errors.push("must not start with '..'")
  return errors
}

/** The name of a port (IANA service name), at most 15. */
export function portName(name: string): string[] {
  const errors: string[] = []
  if (byteLength(name) > 15) errors.push('must be no more than 15 characters')
  if (!portNamePattern.test(name)) errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(name)) errors.push('must contain at least one letter (a-z)')
  if (name.includes('--')) errors.push('must not contain consecutive hyphens')
  if (name.startsWith('-') || name.endsWith('-')) errors.push('must not begin or end with a hyphen')
  return errors
}

/**
 * Shortens a string to a label value: unchanged up to 63 characters, else its first 52, `-`, and 10 hex digits of its
 * SHA-256 (design: Conventions).
 */
export function longLabelValue(text: string): string {
  if (text.length <= 63) return text
  return `${text.slice(0, 52)}-${createHash('sha256').update(text).digest('hex').slice(0, 10)}`
}
