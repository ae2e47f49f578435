// The string formats that CRD schemas check. Others are ignored; names are compared without dashes (`date-time`,
// `datetime`).
import { dns1123Label, dns1123Subdomain } from '../names.ts'
import { isEmailAddress } from './email-address.ts'
import { isCidr, parseIpv4, parseIpv6 } from './ip-address.ts'
import { isRequestUri } from './request-uri.ts'

/** Reports whether a string has a format. */
export type FormatCheck = (text: string) => boolean

/** Returns the check of a format, or undefined for a format that Kubernetes 1.35 does not know and ignores. */
export function formatCheck(format: string): FormatCheck | undefined {
  return checks.get(format.replaceAll('-', ''))
}

const hostnameLabel = '[a-zA-Z0-9\\p{S}\\p{L}]'
/**
 * One label; or several, of which the last has at least two letters. From the formats' specification in kube-openapi.
 */
const hostname = new RegExp(
  `^(?:${hostnameLabel}(?:-?${hostnameLabel}{0,62})?|(?:${hostnameLabel}(?:[a-zA-Z0-9\\-\\p{S}\\p{L}]{0,61}${hostnameLabel})?\\.)+[a-zA-Z\\p{L}]{2,63})$`,
  'u',
)
const byte = '(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])'
const rgbColor = new RegExp(`^rgb\\(\\s*${byte}\\s*,\\s*${byte}\\s*,\\s*${byte}\\s*\\)$`)
const creditCard =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/
const macAddress =
  /^(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}(?:[0-9a-f]{2}|(?:[0-9a-f]{2}\1){2}[0-9a-f]{2}|(?:[0-9a-f]{2}\1){14}[0-9a-f]{2})|[0-9a-f]{4}\.[0-9a-f]{4}\.(?:[0-9a-f]{4}|[0-9a-f]{4}\.[0-9a-f]{4}|(?:[0-9a-f]{4}\.){7}[0-9a-f]{4}))$/i

const checks: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ['bsonobjectid', (text) => /^[0-9a-f]{24}$/i.test(text)],
  ['uri', isRequestUri],
  ['email', isEmailAddress],
  ['hostname', isHostname],
  ['ipv4', (text) => parseIpv4(text, true) !== undefined || (text.includes('.') && parseIpv6(text) !== undefined)],
  ['ipv6', (text) => parseIpv6(text) !== undefined],
  ['cidr', isCidr],
  ['mac', (text) => macAddress.test(text)],
  ['uuid', uuid('[0-9a-f]', '[0-9a-f]')],
  ['uuid3', uuid('3', '[0-9a-f]')],
  ['uuid4', uuid('4', '[89ab]')],
  ['uuid5', uuid('5', '[89ab]')],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => /^\d{3}[- ]\d{2}[- ]\d{4}$/.test(text)],
  ['hexcolor', (text) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text)],
  ['rgbcolor', (text) => rgbColor.test(text)],
  ['byte', (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text)],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => dns1123Label(text).length === 0],
  ['k8slongname', (text) => dns1123Subdomain(text).length === 0],
])

function isHostname(text: string): boolean {
  const bytes = (part: string): number => Buffer.byteLength(part)
  return bytes(text) <= 255 && hostname.test(text) && text.split('.').every((label) => bytes(label) <= 63)
}

function uuid(version: string, variant: string): FormatCheck {
  const form = new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i')
  return (text) => form.test(text)
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '')
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false
  let sum = digits[9] === 'X' ? 100 : 10 * Number(digits[9])
  for (let at = 0; at < 9; at++) sum += (at + 1) * Number(digits[at])
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '')
  if (!/^[0-9]{13}$/.test(digits)) return false
  let sum = 0
  for (let at = 0; at < 12; at++) sum += (at % 2 === 0 ? 1 : 3) * Number(digits[at])
  return Number(digits[12]) === (10 - (sum % 10)) % 10
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '')
  if (!creditCard.test(digits)) return false
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at])
    const doubled = at % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** Reports whether a string is a date, `2006-01-02`, that exists. */
function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (match === null) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  if (month < 1 || month > 12 || day < 1) return false
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return day <= [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]!
}

function isDateTime(text: string): boolean {
  const [date, time] = text.toLowerCase().split('t')
  if (date === undefined || time === undefined || !isDate(date)) return false
  const match = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/.exec(time)
  return match !== null && match[1]! <= '23' && match[2]! <= '59' && match[3]! <= '59'
}

const goDuration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/
/** Units of Scala's durations; the last name of each may have a plural (`seconds`, `hours`). */
const scalaUnit = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/

function isDuration(text: string): boolean {
  if (goDuration.test(text)) return true
  return [...text.matchAll(/\d+\s*([A-Za-zµ]+)/g)].some((match) => scalaUnit.test(match[1]!.toLowerCase()))
}
