// Authentication and impersonation. Messages: recordings auth/unauthenticated, auth/impersonation-granted.
import { describe, expect, test } from 'vitest'
import {
  authenticate,
  certificateAuthenticator,
  impersonate,
  readImpersonation,
  ruleAllows,
  staticTokens,
} from '@fairlead/apiserver'
import type { Authorizer, Credentials, PolicyRule, UserInfo } from '@fairlead/apiserver'
import { StatusError } from '@fairlead/kube'

const admin: UserInfo = { name: 'admin', uid: 'uid-admin', groups: ['system:masters'] }
const chain = [certificateAuthenticator, staticTokens([{ token: 's3cret', user: admin }])]
const nobody: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

function shown(credentials: Partial<Credentials>): Credentials {
  return { authorization: undefined, certificate: undefined, headers: {}, ...credentials }
}

describe('credentials', () => {
  const owner = { commonName: 'jane', organizations: ['dev', 'ops'] }
  test.each<[string, Partial<Credentials>, UserInfo | undefined]>([
    ['none', {}, nobody],
    [
      'a known token',
      { authorization: 'Bearer s3cret' },
      { ...admin, groups: ['system:masters', 'system:authenticated'] },
    ],
    [
      'a known token, written otherwise',
      { authorization: 'bearer s3cret' },
      { ...admin, groups: ['system:masters', 'system:authenticated'] },
    ],
    ['an unknown token', { authorization: 'Bearer other1' }, undefined],
    ['a token that only begins alike', { authorization: 'Bearer s3cret2' }, undefined],
    ['an empty token', { authorization: 'Bearer ' }, nobody],
    ['another scheme', { authorization: 'Basic YTpi' }, nobody],
    ['a certificate', { certificate: owner }, { name: 'jane', groups: ['dev', 'ops', 'system:authenticated'] }],
    [
      'a certificate before a token',
      { certificate: owner, authorization: 'Bearer s3cret' },
      { name: 'jane', groups: ['dev', 'ops', 'system:authenticated'] },
    ],
    ['a certificate without a name', { certificate: { commonName: '', organizations: ['dev'] } }, nobody],
    ['a foreign certificate', { untrusted: true }, undefined],
    [
      'a foreign certificate and a known token',
      { untrusted: true, authorization: 'Bearer s3cret' },
      { ...admin, groups: ['system:masters', 'system:authenticated'] },
    ],
    [
      'a certificate with a fingerprint',
      { certificate: { ...owner, fingerprint: 'ab12' } },
      {
        name: 'jane',
        groups: ['dev', 'ops', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab12'] },
      },
    ],
  ])('%s', async (_, credentials, user) => {
    expect(await authenticate(chain, shown(credentials))).toEqual(user)
  })

  test('are required when anonymous requests are disabled', async () => {
    expect(await authenticate(chain, shown({}), false)).toBeUndefined()
  })

  test('that one authenticator finds invalid are passed to no other', async () => {
    const strict = { name: 'strict', authenticate: () => Promise.resolve('invalid' as const) }
    expect(await authenticate([strict, ...chain], shown({ authorization: 'Bearer s3cret' }))).toBeUndefined()
  })
})

describe('impersonation', () => {
  const alice: UserInfo = { name: 'alice', uid: 'uid-alice', groups: ['devs', 'system:authenticated'] }
  const may = (resource: string, apiGroup = '', resourceNames?: string[]): PolicyRule => ({
    verbs: ['impersonate'],
    apiGroups: [apiGroup],
    resources: [resource],
    ...(resourceNames && { resourceNames }),
  })
  const rules: PolicyRule[] = [
    may('users', '', ['bob', 'system:anonymous']),
    may('groups', '', ['ops', 'system:unauthenticated']),
    may('serviceaccounts', '', ['robot']),
    may('userextras/scopes', 'authentication.k8s.io', ['view']),
    may('uids', 'authentication.k8s.io', ['uid-bob']),
  ]
  const authorizer: Authorizer = {
    authorize: (attributes) => ({ allowed: rules.some((rule) => ruleAllows(rule, attributes)), reason: '' }),
    rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
  }
  const as = async (headers: Credentials['headers']): Promise<unknown> => {
    const wanted = readImpersonation(headers)
    if (wanted === undefined) return undefined
    const outcome = await impersonate(alice, wanted, authorizer)
    return outcome instanceof StatusError ? outcome.status : outcome
  }

  test.each<[string, Credentials['headers'], unknown]>([
    ['nothing', { authorization: 'x' }, undefined],
    ['a user', { 'impersonate-user': ['bob'] }, { name: 'bob', groups: ['system:authenticated'] }],
    [
      'a user and a group',
      { 'impersonate-user': 'bob', 'impersonate-group': ['ops'] },
      { name: 'bob', groups: ['ops', 'system:authenticated'] },
    ],
    [
      'a service account with its groups',
      { 'impersonate-user': 'system:serviceaccount:ns:robot' },
      {
        name: 'system:serviceaccount:ns:robot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
      },
    ],
    [
      'a service account with other groups',
      { 'impersonate-user': 'system:serviceaccount:ns:robot', 'impersonate-group': ['ops'] },
      { name: 'system:serviceaccount:ns:robot', groups: ['ops', 'system:authenticated'] },
    ],
    ['nobody', { 'impersonate-user': 'system:anonymous' }, nobody],
    [
      'a user who is not authenticated',
      { 'impersonate-user': 'bob', 'impersonate-group': ['system:unauthenticated'] },
      { name: 'bob', groups: ['system:unauthenticated'] },
    ],
    [
      'uid and extra fields',
      { 'impersonate-user': 'bob', 'impersonate-uid': 'uid-bob', 'impersonate-extra-scopes': ['view'] },
      { name: 'bob', uid: 'uid-bob', groups: ['system:authenticated'], extra: { scopes: ['view'] } },
    ],
  ])('of %s', async (_, headers, user) => {
    expect(await as(headers)).toEqual(user)
  })

  const cannot = (what: string, where = 'at the cluster scope'): string =>
    `User "alice" cannot impersonate resource ${what} ${where}`
  test.each<[string, Credentials['headers'], string, object]>([
    [
      'another user',
      { 'impersonate-user': 'carol' },
      `users "carol" is forbidden: ${cannot('"users" in API group ""')}`,
      { name: 'carol', kind: 'users' },
    ],
    [
      'another group',
      { 'impersonate-user': 'bob', 'impersonate-group': ['ops', 'other'] },
      `groups "other" is forbidden: ${cannot('"groups" in API group ""')}`,
      { name: 'other', kind: 'groups' },
    ],
    [
      'another service account',
      { 'impersonate-user': 'system:serviceaccount:ns:other' },
      `serviceaccounts "other" is forbidden: ${cannot('"serviceaccounts" in API group ""', 'in the namespace "ns"')}`,
      { name: 'other', kind: 'serviceaccounts' },
    ],
    [
      'other extra fields',
      { 'impersonate-user': 'bob', 'impersonate-extra-acme.com%2fproject': ['x'] },
      `userextras.authentication.k8s.io "x" is forbidden: ${cannot('"userextras/acme.com/project" in API group "authentication.k8s.io"')}`,
      { name: 'x', group: 'authentication.k8s.io', kind: 'userextras' },
    ],
    [
      'another uid',
      { 'impersonate-user': 'bob', 'impersonate-uid': 'x' },
      `uids.authentication.k8s.io "x" is forbidden: ${cannot('"uids" in API group "authentication.k8s.io"')}`,
      { name: 'x', group: 'authentication.k8s.io', kind: 'uids' },
    ],
  ])('of %s is refused', async (_, headers, message, details) => {
    expect(await as(headers)).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason: 'Forbidden',
      details,
      code: 403,
    })
  })

  test('of a group requires a user', async () => {
    expect(await as({ 'impersonate-group': ['ops'] })).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message: 'requested [{Group  ops    }] without impersonating a user',
    })
  })

  test('keeps extra keys such as __proto__', () => {
    expect(readImpersonation({ 'impersonate-user': 'bob', 'impersonate-extra-__proto__': ['x'] })?.extra).toEqual(
      new Map([['__proto__', ['x']]]),
    )
  })
})
