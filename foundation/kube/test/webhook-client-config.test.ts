import { describe, expect, test } from 'vitest'
import { formatFieldError, webhookServiceErrors, webhookUrlErrors } from '@fairlead/kube'

const form = '; desired format: https://host[/path]'

describe('webhook url', () => {
  test.each<[string, ...string[]]>([
    ['https://host:8443/a/b'],
    [
      '',
      `Invalid value: "": 'https' is the only allowed URL scheme${form}`,
      `Invalid value: "": host must be specified${form}`,
    ],
    ['https://', `Invalid value: "": host must be specified${form}`],
    ['HTTPS://host'],
    ['https://user:pw@host/x', 'Invalid value: "user:pw": user information is not permitted in the URL'],
    ['https://host/x#y?z', 'Invalid value: "y?z": fragments are not permitted in the URL'],
    ['https://host/x?y=1', 'Invalid value: "y=1": query parameters are not permitted in the URL'],
    [':::', `Required value: url must be a valid URL: parse ":::": missing protocol scheme${form}`],
    [
      'https://a:b/',
      `Required value: url must be a valid URL: parse "https://a:b/": invalid port ":b" after host${form}`,
    ],
    [
      'https://a b/',
      `Required value: url must be a valid URL: parse "https://a b/": invalid character " " in host name${form}`,
    ],
    [
      'a:b/c',
      `Invalid value: "a": 'https' is the only allowed URL scheme${form}`,
      `Invalid value: "": host must be specified${form}`,
    ],
    [
      '1a:b',
      `Required value: url must be a valid URL: parse "1a:b": first path segment in URL cannot contain colon${form}`,
    ],
  ])('%s', (url, ...problems) => {
    expect(webhookUrlErrors('u', url).map(formatFieldError)).toEqual(problems.map((problem) => `u: ${problem}`))
  })
})

describe('webhook service', () => {
  test('swaps the fields of missing name and namespace as Kubernetes does', () => {
    expect(webhookServiceErrors('s', { name: 'a' }).map(formatFieldError)).toEqual(['s.name: Required value'])
  })

  test.each<[string, ...string[]]>([
    ['/'],
    ['/a/b/'],
    ['//', 'segment[0] may not be empty'],
    ['x', "must start with a '/'", 'segment[0] may not be empty'],
    ['/a//b', 'segment[1] may not be empty'],
  ])('path %s', (path, ...problems) => {
    const errors = webhookServiceErrors('s', { name: 'a', namespace: 'b', path })
    expect(errors.map(({ detail }) => detail)).toEqual(problems)
  })
})
