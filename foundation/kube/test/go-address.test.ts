import { expect, test } from 'vitest'
import { parseGoAddress } from '../src/go-address.ts'

test.each([
  ['1.2.3.4', 32, 0x01020304n],
  ['::', 128, 0n],
  ['::1', 128, 1n],
  ['1::', 128, 1n << 112n],
  ['::ffff:1.2.3.4', 128, 0xffff01020304n],
  ['1:2:3:4:5:6:7:8', 128, 0x00010002000300040005000600070008n],
])('%s is an address', (text, bits, value) => {
  expect(parseGoAddress(text)).toEqual({ bits, value, zone: '' })
})

test('an IPv6 address may have a zone', () => {
  expect(parseGoAddress('fe80::1%eth0')).toMatchObject({ zone: 'eth0' })
})

test.each([
  ['', 'unable to parse IP'],
  ['bad', 'unable to parse IP'],
  ['%', 'missing IPv6 address'],
  ['1.2.3', 'IPv4 address too short'],
  ['1.2.3.4.5', 'IPv4 address too long'],
  ['1.2.3.256', 'IPv4 field has value >255'],
  ['1.2.3.04', 'IPv4 field has octet with leading zero'],
  ['1..2.3', 'IPv4 field must have at least one digit (at ".2.3")'],
  ['1.2.x.4', 'unexpected character (at "x.4")'],
  ['::g', 'each colon-separated field must have at least one digit (at "g")'],
  ['1:2', 'address string too short'],
  ['1::2::3', 'multiple :: in address (at ":3")'],
  ['12345::', 'each group must have 4 or fewer digits (at "12345::")'],
  ['1:2:3:4:5:6:7:8:9', 'trailing garbage after address (at "9")'],
  ['1:2:3:4:5:6:7::8', 'the :: must expand to at least one field of zeros'],
  ['1:1.2.3.4', 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'],
  ['1:', 'colon must be followed by more characters (at ":")'],
  ['fe80::1%', 'zone must be a non-empty string'],
])('%s is none', (text, problem) => {
  expect(parseGoAddress(text)).toBe(`ParseAddr(${JSON.stringify(text)}): ${problem}`)
})
