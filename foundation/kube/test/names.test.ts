import { describe, expect, test } from 'vitest'
import {
  configMapKey,
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  environmentName,
  generatedName,
  labelValue,
  longLabelValue,
  nameSuffix,
  pathSegmentName,
  portName,
  qualifiedName,
} from '@fairlead/kube'
import { describeData, recordings } from '../../../test/support/conformance-data.ts'

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

describe('name validation', () => {
  test.each<[string, (name: string) => string[], string[]]>([
    ['a-b', dns1123Label, []],
    ['a.b', dns1123Label, ['must not contain dots']],
    ['a'.repeat(63), dns1123Label, []],
    ['a'.repeat(64), dns1123Label, ['must be no more than 63 characters']],
    ['a.b', dns1123Subdomain, []],
    ['A', dns1123Subdomain, [subdomain]],
    ['a..b', dns1123Subdomain, [subdomain]],
    ['', dns1123Subdomain, [subdomain]],
    ['a'.repeat(254), dns1123Subdomain, ['must be no more than 253 characters']],
    ['abc-1', dns1035Label, []],
    ['example.com/a', qualifiedName, []],
    ['a', qualifiedName, []],
    ['/a', qualifiedName, ['prefix part must be non-empty']],
    ['Bad/a', qualifiedName, [`prefix part ${subdomain}`]],
    ['x'.repeat(64), qualifiedName, ['name part must be no more than 63 bytes']],
    ['', labelValue, []],
    ['a_b.C-1', labelValue, []],
    [
      'é'.repeat(20),
      labelValue,
      [expect.stringMatching(/^a valid label must be an empty string/) as unknown as string],
    ],
    ['.', pathSegmentName, ["may not be '.'"]],
    ['..', pathSegmentName, ["may not be '..'"]],
    ['a/b%c', pathSegmentName, ["may not contain '/'", "may not contain '%'"]],
    ['system:node', pathSegmentName, []],
    ['key.name', configMapKey, []],
    ['..', configMapKey, ["must not be '..'"]],
    ['..a', configMapKey, ["must not start with '..'"]],
    ['A_B', environmentName, []],
    ['http', portName, []],
    ['1', portName, ['must contain at least one letter (a-z)']],
    ['-a--b', portName, ['must not contain consecutive hyphens', 'must not begin or end with a hyphen']],
  ])('%j under %o', (name, check, messages) => {
    expect(check(name)).toEqual(messages)
  })

  test('longLabelValue keeps the beginning of a long value and appends a hash', () => {
    expect(longLabelValue('short')).toBe('short')
    const long = longLabelValue('x'.repeat(64))
    expect(long).toMatch(/^x{52}-[0-9a-f]{10}$/)
    expect(long).not.toBe(longLabelValue('x'.repeat(65)))
  })

  test('generated names fit 63 characters and are determined by the given randomness', () => {
    expect(nameSuffix(() => 0)).toBe('bbbbb')
    expect(nameSuffix(() => 0.999999)).toBe('99999')
    expect(generatedName('job-', () => 0.5)).toBe('job-rrrrr'.replace(/r/g, nameSuffix(() => 0.5)[0]!))
    expect(generatedName('x'.repeat(70), () => 0)).toBe('x'.repeat(58) + 'bbbbb')
  })
})

const recordedNames = () => {
  const checks: Record<string, (name: string) => string[]> = {
    'validation/configmap-names': dns1123Subdomain,
    'validation/namespace-names': dns1123Label,
    'validation/service-names': dns1035Label,
    'validation/path-segment-names': pathSegmentName,
  }
  return recordings('validation').flatMap(({ name, steps }) => {
    const check = checks[name]
    if (check === undefined) return []
    return steps.flatMap(({ response }) => {
      const causes =
        (response?.body?.['details'] as { causes?: { field: string; message: string }[] } | undefined)?.causes ?? []
      return causes
        .filter(({ field, message }) => field === 'metadata.name' && message.startsWith('Invalid value: "'))
        .map(({ message }) => {
          const [, quoted, detail] = /^Invalid value: ("(?:[^"\\]|\\.)*"): (.*)$/s.exec(message)!
          return { check, text: JSON.parse(quoted!) as string, detail: detail! }
        })
        .filter(({ text }) => !text.includes('{{'))
    })
  })
}

describeData('recorded invalid names', { minimum: 25, read: recordedNames }, (cases) => {
  test.each(cases)('$text', ({ check, text, detail }) => {
    expect(check(text)).toContain(detail)
  })
})
