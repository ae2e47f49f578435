// The opaque key of a group: the same for an input that is deleted and created again under its name, different for any
// two inputs (R25, Q6).
import { hash } from 'node:crypto'
import type { Identity } from './identity.ts'
import { formatIdentity } from './identity.ts'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
const digits = 26
const longestPrefix = 63 - digits - 1

/**
 * Returns the map key of an input, a valid label value: a readable prefix of the input's name and 26 base32 digits (130
 * bits) of the SHA-256 of its identity.
 */
export function mapKeyOf(input: Identity): string {
  const prefix = input.name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .slice(0, longestPrefix)
    .replaceAll(/^[.-]+|[.-]+$/g, '')
  const tail = base32(hash('sha256', formatIdentity(input), 'buffer'))
  return prefix === '' ? tail : `${prefix}-${tail}`
}

/** Returns a number in [0, 1) that depends on the map key alone; spreads groups over time. */
export function fractionOf(mapKey: string): number {
  let value = 0
  for (const digit of mapKey.slice(-6)) value = value * 32 + Math.max(0, alphabet.indexOf(digit))
  return value / 32 ** 6
}

function base32(bytes: Uint8Array): string {
  let encoded = ''
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      encoded += alphabet.charAt((held >>> bits) & 31)
    }
    held &= (1 << bits) - 1
    if (encoded.length >= digits) break
  }
  return encoded.slice(0, digits)
}
