// The keys of `--resolve` that name a Service.
import { expect, test } from 'vitest'
import { configuredAddress } from '../src/up/configured-address.ts'

const address = { host: '127.0.0.1', port: 7699 }

test.each([
  ['wh.default.svc', 443, address],
  ['wh.default', 443, address],
  ['wh.default:443', 443, address],
  ['wh.default.svc:443', 443, address],
  ['wh.default:8443', 443, undefined],
  ['other.default', 443, undefined],
  ['wh', 443, undefined],
])('--resolve %s=HOST:PORT resolves port %i of Service default/wh: %j', (key, port, expected) => {
  expect(configuredAddress(new Map([[key, '127.0.0.1:7699']]), 'wh.default.svc', port)).toEqual(expected)
})

test('an address for one port counts more than one for all ports', () => {
  const resolve = new Map([
    ['wh.default', '127.0.0.1:1'],
    ['wh.default:8443', '[::1]:2'],
  ])
  expect([443, 8443].map((port) => configuredAddress(resolve, 'wh.default.svc', port))).toEqual([
    { host: '127.0.0.1', port: 1 },
    { host: '[::1]', port: 2 },
  ])
})
