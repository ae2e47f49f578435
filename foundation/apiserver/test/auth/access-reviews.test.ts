// Access reviews. Messages: recordings auth/subject-access-review and auth/self-subject-rules-review.
import { describe, expect, test } from 'vitest'
import { accessReviews } from '@fairlead/apiserver'
import type { Attributes, Authorizer, UserInfo } from '@fairlead/apiserver'
import type { KubeObject } from '@fairlead/kube'

const apiVersion = 'authorization.k8s.io/v1'
const alice: UserInfo = { name: 'alice', groups: ['devs', 'system:authenticated'] }

/** Allows dave and the group g1 to get ConfigMaps, and records its calls. */
class Recorder implements Authorizer {
  readonly asked: Attributes[] = []

  authorize(attributes: Attributes): ReturnType<Authorizer['authorize']> {
    this.asked.push(attributes)
    const { user, verb, resource } = attributes
    const allowed = (user.name === 'dave' || user.groups.includes('g1')) && verb === 'get' && resource === 'configmaps'
    return { allowed, reason: allowed ? `RBAC: allowed by RoleBinding "b/ns" of Role "r" to User "${user.name}"` : '' }
  }

  rulesFor(user: UserInfo, namespace: string): ReturnType<Authorizer['rulesFor']> {
    return {
      resourceRules: [{ verbs: ['get'], apiGroups: [namespace], resources: [user.name] }],
      nonResourceRules: [],
      incomplete: false,
    }
  }
}

function ask(
  kind: string,
  spec: object,
  options: { namespace?: string; metadata?: object; authorizer?: Recorder } = {},
): KubeObject {
  const { namespace = '', metadata = {}, authorizer = new Recorder() } = options
  return accessReviews[kind]!({ apiVersion, kind, metadata, spec } as KubeObject, {
    user: alice,
    authorizer,
    namespace,
  })
}

const getConfigMaps = { verb: 'get', resource: 'configmaps', namespace: 'ns' }

describe('SubjectAccessReview', () => {
  test('decides for the user and groups of its spec', () => {
    const spec = { user: 'dave', resourceAttributes: getConfigMaps }
    expect(ask('SubjectAccessReview', spec)).toEqual({
      apiVersion,
      kind: 'SubjectAccessReview',
      metadata: {},
      spec,
      status: { allowed: true, reason: 'RBAC: allowed by RoleBinding "b/ns" of Role "r" to User "dave"' },
    })
    expect(ask('SubjectAccessReview', { groups: ['g1'], resourceAttributes: getConfigMaps }).status).toMatchObject({
      allowed: true,
    })
    expect(ask('SubjectAccessReview', { user: 'eve', resourceAttributes: getConfigMaps }).status).toEqual({
      allowed: false,
    })
  })

  test('authorizes exactly the attributes of its spec', () => {
    const authorizer = new Recorder()
    const attributes = {
      verb: 'update',
      group: 'apps',
      version: 'v1',
      resource: 'deployments',
      subresource: 'scale',
      namespace: 'ns',
      name: 'd',
    }
    ask(
      'SubjectAccessReview',
      { user: 'eve', uid: 'u', groups: ['g'], extra: { k: ['v'] }, resourceAttributes: attributes },
      { authorizer },
    )
    ask(
      'SubjectAccessReview',
      { user: 'eve', nonResourceAttributes: { path: '/metrics', verb: 'get' } },
      { authorizer },
    )
    expect(authorizer.asked).toEqual([
      { user: { name: 'eve', uid: 'u', groups: ['g'], extra: { k: ['v'] } }, ...attributes },
      { user: { name: 'eve', groups: [] }, verb: 'get', path: '/metrics' },
    ])
  })
})

test('SelfSubjectAccessReview decides for the user of the request', () => {
  const authorizer = new Recorder()
  expect(ask('SelfSubjectAccessReview', { resourceAttributes: getConfigMaps }, { authorizer }).status).toEqual({
    allowed: false,
  })
  expect(authorizer.asked).toMatchObject([{ user: alice, verb: 'get', resource: 'configmaps', namespace: 'ns' }])
})

test('LocalSubjectAccessReview decides within its namespace', () => {
  const metadata = { namespace: 'ns', managedFields: [] }
  const answer = ask(
    'LocalSubjectAccessReview',
    { user: 'dave', resourceAttributes: getConfigMaps },
    { namespace: 'ns', metadata },
  )
  expect([answer.metadata, answer.status]).toEqual([metadata, { allowed: true, reason: expect.any(String) }])
})

test('SelfSubjectRulesReview lists the rules of the user of the request', () => {
  expect(ask('SelfSubjectRulesReview', { namespace: 'ns' })).toEqual({
    apiVersion,
    kind: 'SelfSubjectRulesReview',
    metadata: {},
    spec: {},
    status: {
      resourceRules: [{ verbs: ['get'], apiGroups: ['ns'], resources: ['alice'] }],
      nonResourceRules: [],
      incomplete: false,
    },
  })
  expect(() => ask('SelfSubjectRulesReview', {})).toThrow(
    expect.objectContaining({ code: 400, message: 'no namespace on request' }),
  )
})

describe('an invalid access review', () => {
  const exactlyOne =
    'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified'
  const cases: [string, string, object, Parameters<typeof ask>[2], string, string][] = [
    [
      'no one to ask about',
      'SubjectAccessReview',
      { resourceAttributes: getConfigMaps },
      {},
      'spec.user',
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
    ['nothing to ask about', 'SelfSubjectAccessReview', {}, {}, 'spec.resourceAttributes', exactlyOne],
    [
      'two things to ask about',
      'SelfSubjectAccessReview',
      { resourceAttributes: getConfigMaps, nonResourceAttributes: { path: '/', verb: 'get' } },
      {},
      'spec.nonResourceAttributes',
      'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ],
    [
      'another namespace',
      'LocalSubjectAccessReview',
      { user: 'dave', resourceAttributes: { ...getConfigMaps, namespace: 'other' } },
      { namespace: 'ns' },
      'spec.resourceAttributes.namespace',
      'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
    ],
    [
      'a path in a namespace',
      'LocalSubjectAccessReview',
      { user: 'dave', nonResourceAttributes: { path: '/', verb: 'get' } },
      { namespace: 'ns' },
      'spec.nonResourceAttributes',
      'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on this kind of request',
    ],
    [
      'an empty selector',
      'SelfSubjectAccessReview',
      { resourceAttributes: { ...getConfigMaps, fieldSelector: {} } },
      {},
      'spec.resourceAttributes.fieldSelector.requirements',
      'spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required',
    ],
  ]
  test.each(cases)('%s', (_, kind, spec, options, field, message) => {
    expect(() => ask(kind, spec, options)).toThrow(
      expect.objectContaining({
        status: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: `.authorization.k8s.io "" is invalid: ${message}`,
          reason: 'Invalid',
          details: {
            group: 'authorization.k8s.io',
            causes: [
              {
                reason: message.includes('Required') ? 'FieldValueRequired' : 'FieldValueInvalid',
                message: message.slice(field.length + 2),
                field,
              },
            ],
          },
          code: 422,
        },
      }),
    )
  })

  test('is rejected for a metadata.name', () => {
    expect(() =>
      ask('SelfSubjectAccessReview', { resourceAttributes: getConfigMaps }, { metadata: { name: 'x' } }),
    ).toThrow(/metadata: Invalid value: .*: must be empty$/)
  })
})
