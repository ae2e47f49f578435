import { formatStructured, hostAddresses, testSummary } from '@fairlead/offline'
import { expect, test } from 'vitest'

test('a test run ends with its counts; skipped tests are named when there are some', () => {
  expect([
    testSummary({ passed: 2, failed: 1 }, 'tests', ''),
    testSummary({ passed: 0, failed: 0, skipped: 3 }, 'tests', ''),
  ]).toEqual(['2 passed, 1 failed', '0 passed, 0 failed, 3 skipped'])
})

test('a test run without a test is a usage error that says where tests are expected', () => {
  expect(() => testSummary({ passed: 0, failed: 0 }, 'tests', 'a test is a file test.yaml')).toThrow(
    expect.objectContaining({ message: 'there are no tests in tests: a test is a file test.yaml', exitCode: 2 }),
  )
})

test('--resolve names hosts and their addresses, and refuses values of another form', () => {
  expect(hostAddresses(['a.ns=127.0.0.1:80', 'b.ns=[::1]:81'])).toEqual(
    new Map([
      ['a.ns', '127.0.0.1:80'],
      ['b.ns', '[::1]:81'],
    ]),
  )
  expect(() => hostAddresses(['a.ns=127.0.0.1'])).toThrow('--resolve a.ns=127.0.0.1: write name=host:port')
})

test('-o json is indented as kubectl does it, whatever strings and numbers contain; -o yaml is YAML', () => {
  const value = { a: [1, { b: 'x: {"y", [z]}\\' }], empty: {}, none: [], large: 9007199254740993n }
  expect(formatStructured(value, 'json')).toBe(
    String.raw`{
    "a": [
        1,
        {
            "b": "x: {\"y\", [z]}\\"
        }
    ],
    "empty": {},
    "none": [],
    "large": 9007199254740993
}`,
  )
  expect(formatStructured({ a: [1] }, 'yaml')).toBe('a:\n- 1\n')
})
