// RBAC decisions from roles and bindings in a store. Messages are those of a real API server (recordings, area auth).
import { describe, expect, test } from 'vitest'
import {
  aggregatedRules,
  bootstrapPolicy,
  forbiddenRequest,
  memory,
  RbacAuthorizer,
  RoleIndex,
  serviceAccountGroups,
  serviceAccountName,
} from '@fairlead/apiserver'
import type { Attributes, PolicyRule, Store, UserInfo } from '@fairlead/apiserver'

const alice: UserInfo = { name: 'alice', uid: 'uid-alice', groups: ['devs', 'system:authenticated'] }
const admin: UserInfo = { name: 'admin', groups: ['system:masters', 'system:authenticated'] }
const robot: UserInfo = {
  name: serviceAccountName('apps', 'robot'),
  groups: [...serviceAccountGroups('apps'), 'system:authenticated'],
}
const group = 'rbac.authorization.k8s.io'

interface Cluster {
  readonly store: Store
  readonly authorizer: RbacAuthorizer
  /** Writes a role or binding: `Role ns/name`, `ClusterRole name`. */
  put(kind: string, key: string, content: object): Promise<void>
  remove(kind: string, key: string): Promise<void>
}

function resourceOf(kind: string): string {
  return `${kind.toLowerCase()}s.${group}`
}

async function withCluster(
  run: (cluster: Cluster) => Promise<void>,
  options: { readonly bootstrap?: boolean } = {},
): Promise<void> {
  await using store = await memory().open()
  const put: Cluster['put'] = async (kind, key, content) => {
    const [name, namespace] = key.split('/').toReversed()
    const resource = resourceOf(kind)
    const expected = (await store.head(resource, key))?.revision ?? 0
    await store.write({
      resource,
      key,
      expected,
      object: {
        apiVersion: `${group}/v1`,
        kind,
        metadata: { name, ...(namespace && { namespace }) },
        ...content,
      } as never,
    })
  }
  if (options.bootstrap) {
    for (const { kind, metadata, ...content } of bootstrapPolicy())
      await put(kind, [metadata.namespace, metadata.name].filter(Boolean).join('/'), content)
  }
  using roles = await RoleIndex.follow(store)
  const remove: Cluster['remove'] = async (kind, key) => {
    const resource = resourceOf(kind)
    await store.write({ resource, key, expected: (await store.head(resource, key))!.revision, object: undefined })
  }
  await run({ store, authorizer: new RbacAuthorizer(roles), put, remove })
}

function ref(kind: string, name: string): object {
  return { apiGroup: group, kind, name }
}

function user(name: string): object {
  return { kind: 'User', apiGroup: group, name }
}

const readConfigMaps: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['configmaps'] }
const listConfigMaps: Omit<Attributes, 'user'> = {
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'configmaps',
  namespace: 'ns',
}

describe('an RBAC rule', () => {
  const cases: [string, PolicyRule, Omit<Attributes, 'user'>, boolean][] = [
    ['of another verb', { ...readConfigMaps, verbs: ['get'] }, listConfigMaps, false],
    ['of every verb', { ...readConfigMaps, verbs: ['*'] }, listConfigMaps, true],
    ['of another group', { ...readConfigMaps, apiGroups: ['apps'] }, listConfigMaps, false],
    ['of every group', { ...readConfigMaps, apiGroups: ['*'] }, listConfigMaps, true],
    ['of every resource', { ...readConfigMaps, resources: ['*'] }, { ...listConfigMaps, subresource: 'status' }, true],
    ['of the resource', readConfigMaps, { ...listConfigMaps, subresource: 'status' }, false],
    [
      'of the subresource',
      { ...readConfigMaps, resources: ['configmaps/status'] },
      { ...listConfigMaps, subresource: 'status' },
      true,
    ],
    ['of the subresource alone', { ...readConfigMaps, resources: ['configmaps/status'] }, listConfigMaps, false],
    [
      'of a subresource of every resource',
      { ...readConfigMaps, resources: ['*/status'] },
      { ...listConfigMaps, subresource: 'status' },
      true,
    ],
    [
      'of another subresource of every resource',
      { ...readConfigMaps, resources: ['*/scale'] },
      { ...listConfigMaps, subresource: 'status' },
      false,
    ],
    ['of names', { ...readConfigMaps, resourceNames: ['a'] }, listConfigMaps, false],
    ['of the name', { ...readConfigMaps, resourceNames: ['b', 'a'] }, { ...listConfigMaps, name: 'a' }, true],
    ['of resources', readConfigMaps, { verb: 'get', path: '/configmaps' }, false],
    ['of the path', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, { verb: 'get', path: '/healthz' }, true],
    [
      'of paths below',
      { verbs: ['get'], nonResourceURLs: ['/healthz/*'] },
      { verb: 'get', path: '/healthz/ping' },
      true,
    ],
    ['of paths below', { verbs: ['get'], nonResourceURLs: ['/healthz/*'] }, { verb: 'get', path: '/healthz' }, false],
    ['of every path', { verbs: ['*'], nonResourceURLs: ['*'] }, { verb: 'post', path: '/anything' }, true],
    ['of paths', { verbs: ['*'], nonResourceURLs: ['*'] }, listConfigMaps, false],
  ]
  test.each(cases)('%s: %j for %j is %s', async (_, rule, attributes, allowed) => {
    await withCluster(async ({ put, authorizer }) => {
      await put('ClusterRole', 'r', { rules: [rule] })
      await put('ClusterRoleBinding', 'b', { roleRef: ref('ClusterRole', 'r'), subjects: [user('alice')] })
      expect(authorizer.authorize({ user: alice, ...attributes }).allowed).toBe(allowed)
    })
  })
})

describe('an RBAC binding', () => {
  test.each([
    ['of the user', user('alice'), alice, 'User "alice"'],
    ['of another user', user('bob'), alice, undefined],
    ['of a group', { kind: 'Group', apiGroup: group, name: 'devs' }, alice, 'Group "devs"'],
    [
      'of a service account',
      { kind: 'ServiceAccount', name: 'robot', namespace: 'apps' },
      robot,
      'ServiceAccount "robot/apps"',
    ],
    [
      'of a service account of another namespace',
      { kind: 'ServiceAccount', name: 'robot', namespace: 'other' },
      robot,
      undefined,
    ],
    [
      'of the user name of a service account',
      user('system:serviceaccount:apps:robot'),
      robot,
      'User "system:serviceaccount:apps:robot"',
    ],
    [
      'of the groups of service accounts',
      { kind: 'Group', name: 'system:serviceaccounts:apps' },
      robot,
      'Group "system:serviceaccounts:apps"',
    ],
  ])('%s', async (_, subject, who, described) => {
    await withCluster(async ({ put, authorizer }) => {
      await put('Role', 'ns/r', { rules: [readConfigMaps] })
      await put('RoleBinding', 'ns/b', { roleRef: ref('Role', 'r'), subjects: [subject] })
      const decision = authorizer.authorize({ user: who, ...listConfigMaps })
      const reason = described === undefined ? '' : `RBAC: allowed by RoleBinding "b/ns" of Role "r" to ${described}`
      expect(decision).toEqual({ allowed: described !== undefined, reason })
    })
  })

  test('of a namespace applies in that namespace only, also to a ClusterRole', async () => {
    await withCluster(async ({ put, authorizer }) => {
      await put('ClusterRole', 'r', { rules: [readConfigMaps, { verbs: ['get'], nonResourceURLs: ['/metrics'] }] })
      await put('RoleBinding', 'ns/b', { roleRef: ref('ClusterRole', 'r'), subjects: [user('alice')] })
      const namespaces = ['ns', 'other', ''].map(
        (namespace) => authorizer.authorize({ user: alice, ...listConfigMaps, namespace }).allowed,
      )
      expect(namespaces).toEqual([true, false, false])
      expect(authorizer.authorize({ user: alice, verb: 'get', path: '/metrics' }).allowed).toBe(false)
    })
  })

  test('to a missing role names it in the reason', async () => {
    await withCluster(async ({ put, authorizer }) => {
      await put('RoleBinding', 'ns/b', { roleRef: ref('Role', 'gone'), subjects: [user('alice')] })
      await put('ClusterRoleBinding', 'c', { roleRef: ref('ClusterRole', 'gone'), subjects: [user('alice')] })
      expect(authorizer.authorize({ user: alice, ...listConfigMaps })).toEqual({
        allowed: false,
        reason:
          'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found]',
      })
    })
  })
})

test('the RBAC authorizer follows every change of roles and bindings', async () => {
  await withCluster(async ({ put, remove, authorizer }) => {
    const may = (who = alice): boolean => authorizer.authorize({ user: who, ...listConfigMaps }).allowed
    const steps: boolean[] = [may()]
    await put('RoleBinding', 'ns/b', {
      roleRef: ref('Role', 'r'),
      subjects: [user('alice'), { kind: 'Group', name: 'devs' }],
    })
    steps.push(may())
    await put('Role', 'ns/r', { rules: [readConfigMaps] })
    steps.push(may())
    await put('RoleBinding', 'ns/b', { roleRef: ref('Role', 'r'), subjects: [user('bob')] })
    steps.push(may(), may({ name: 'bob', groups: [] }))
    await put('RoleBinding', 'ns/b', { roleRef: ref('Role', 'r') })
    steps.push(may({ name: 'bob', groups: [] }))
    await put('RoleBinding', 'ns/b', { roleRef: ref('Role', 'r'), subjects: [user('alice')] })
    await put('Role', 'ns/r', { rules: null })
    steps.push(may())
    await put('Role', 'ns/r', { rules: [readConfigMaps] })
    await remove('RoleBinding', 'ns/b')
    steps.push(may())
    expect(steps).toEqual([false, false, true, false, true, false, false, false])
  })
})

test('the RBAC authorizer reads the roles that were stored before its start', async () => {
  await withCluster(async ({ put, store }) => {
    await put('ClusterRole', 'r', { rules: [readConfigMaps] })
    await put('ClusterRoleBinding', 'b', { roleRef: ref('ClusterRole', 'r'), subjects: [user('alice')] })
    using later = await RoleIndex.follow(store)
    expect(new RbacAuthorizer(later).authorize({ user: alice, ...listConfigMaps })).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "alice"',
    })
  })
})

test('the RBAC authorizer allows system:masters everything, without a reason', async () => {
  await withCluster(async ({ authorizer }) => {
    expect(authorizer.authorize({ user: admin, verb: '*', resource: '*' })).toEqual({ allowed: true, reason: '' })
    expect(authorizer.authorize({ user: admin, verb: 'delete', path: '/' })).toEqual({ allowed: true, reason: '' })
  })
})

describe('a forbidden request', () => {
  const cases: [Omit<Attributes, 'user'>, string, object][] = [
    [
      listConfigMaps,
      'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "ns"',
      { kind: 'configmaps' },
    ],
    [
      { ...listConfigMaps, verb: 'get', namespace: '', name: 'a' },
      'configmaps "a" is forbidden: User "alice" cannot get resource "configmaps" in API group "" at the cluster scope',
      { name: 'a', kind: 'configmaps' },
    ],
    [
      { verb: 'patch', group: 'apps', resource: 'deployments', subresource: 'status', namespace: 'ns', name: 'd' },
      'deployments.apps "d" is forbidden: User "alice" cannot patch resource "deployments/status" in API group "apps" in the namespace "ns"',
      { name: 'd', group: 'apps', kind: 'deployments' },
    ],
    [{ verb: 'get', path: '/a<b>&c' }, 'forbidden: User "alice" cannot get path "/a&lt;b&gt;&amp;c"', {}],
  ]
  test.each(cases)('%j', (attributes, message, details) => {
    expect(forbiddenRequest({ user: alice, ...attributes }, '').status).toEqual({
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

  test('has the reason of the authorizer at the end of its message', () => {
    expect(forbiddenRequest({ user: alice, ...listConfigMaps }, 'RBAC: x not found').message).toMatch(
      / in the namespace "ns": RBAC: x not found$/,
    )
  })
})

test('the RBAC authorizer lists the rules of a user, cluster-wide ones first', async () => {
  await withCluster(
    async ({ put, authorizer }) => {
      await put('Role', 'ns/r', {
        rules: [
          readConfigMaps,
          { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'], resourceNames: ['d'] },
        ],
      })
      await put('RoleBinding', 'ns/b', { roleRef: ref('Role', 'r'), subjects: [user('alice')] })
      await put('RoleBinding', 'ns/c', { roleRef: ref('Role', 'gone'), subjects: [user('alice')] })
      expect(authorizer.rulesFor(alice, 'ns')).toEqual({
        resourceRules: [
          {
            verbs: ['create'],
            apiGroups: ['authorization.k8s.io'],
            resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
          },
          { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
          { verbs: ['get', 'list'], apiGroups: [''], resources: ['configmaps'] },
          { verbs: ['get'], apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['d'] },
        ],
        nonResourceRules: [
          {
            verbs: ['get'],
            nonResourceURLs: [
              '/api',
              '/api/*',
              '/apis',
              '/apis/*',
              '/healthz',
              '/livez',
              '/openapi',
              '/openapi/*',
              '/readyz',
              '/version',
              '/version/',
            ],
          },
          { verbs: ['get'], nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'] },
        ],
        incomplete: true,
        evaluationError: 'role.rbac.authorization.k8s.io "gone" not found',
      })
    },
    { bootstrap: true },
  )
})

describe('bootstrap roles', () => {
  const within = (name: string): [string, Omit<Attributes, 'user'>] => [
    name,
    { verb: 'get', group: '', resource: 'pods', namespace: 'ns', name: 'p' },
  ]
  const cases: [string, Omit<Attributes, 'user'>, boolean][] = [
    [...within('view'), true],
    ['view', { verb: 'get', group: '', resource: 'namespaces', namespace: 'ns', name: 'ns' }, true],
    ['view', { verb: 'get', group: '', resource: 'secrets', namespace: 'ns' }, false],
    ['view', { verb: 'list', group: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'ns' }, true],
    ['view', { verb: 'create', group: '', resource: 'configmaps', namespace: 'ns' }, false],
    ['view', { verb: 'get', group: group, resource: 'roles', namespace: 'ns' }, false],
    ['edit', { verb: 'get', group: '', resource: 'secrets', namespace: 'ns' }, true],
    ['edit', { verb: 'delete', group: 'batch', resource: 'jobs', namespace: 'ns' }, true],
    ['edit', { verb: 'create', group: '', resource: 'serviceaccounts', subresource: 'token', namespace: 'ns' }, true],
    ['edit', { verb: 'impersonate', group: '', resource: 'serviceaccounts', namespace: 'ns', name: 'x' }, true],
    ['edit', { verb: 'create', group: group, resource: 'rolebindings', namespace: 'ns' }, false],
    ['admin', { verb: 'create', group: group, resource: 'rolebindings', namespace: 'ns' }, true],
    ['admin', { verb: 'get', group: '', resource: 'secrets', namespace: 'ns' }, true],
    ['admin', { verb: 'update', group: '', resource: 'resourcequotas', namespace: 'ns' }, false],
    ['cluster-admin', { verb: 'update', group: '', resource: 'resourcequotas', namespace: 'ns' }, true],
  ]
  test.each(cases)('%s bound in a namespace: %j is %s', async (name, attributes, allowed) => {
    await withCluster(
      async ({ put, authorizer }) => {
        await put('RoleBinding', 'ns/b', { roleRef: ref('ClusterRole', name), subjects: [user('alice')] })
        expect(authorizer.authorize({ user: alice, ...attributes }).allowed).toBe(allowed)
      },
      { bootstrap: true },
    )
  })

  test.each([
    ['/healthz', true, true],
    ['/version', true, true],
    ['/api', false, true],
    ['/apis/apps', false, true],
    ['/openapi/v3', false, true],
    ['/metrics', false, false],
  ])('%s without credentials %s, with them %s', async (path, anyone, authenticated) => {
    await withCluster(
      async ({ authorizer }) => {
        const nobody = { name: 'system:anonymous', groups: ['system:unauthenticated'] }
        const answers = [nobody, alice].map((who) => authorizer.authorize({ user: who, verb: 'get', path }).allowed)
        expect(answers).toEqual([anyone, authenticated])
      },
      { bootstrap: true },
    )
  })

  test('contain every rule of the roles that they aggregate', () => {
    const roles = bootstrapPolicy().filter(({ kind }) => kind === 'ClusterRole')
    const aggregating = roles.filter((role) => role.aggregationRule !== undefined)
    expect(aggregating.map((role) => role.metadata.name)).toEqual(['view', 'edit', 'admin'])
    for (const role of aggregating) expect(aggregatedRules(role, roles)).toEqual(role.rules)
  })
})

describe('an aggregated ClusterRole', () => {
  const part = (
    name: string,
    labels: Record<string, string>,
    ...rules: PolicyRule[]
  ): Parameters<typeof aggregatedRules>[0] => ({
    apiVersion: `${group}/v1`,
    kind: 'ClusterRole',
    metadata: { name, labels },
    rules,
  })
  const whole = {
    ...part('whole', { to: 'whole' }),
    aggregationRule: {
      clusterRoleSelectors: [
        { matchLabels: { to: 'whole' } },
        { matchExpressions: [{ key: 'more', operator: 'Exists' as const }] },
      ],
    },
  }
  const other: PolicyRule = { ...readConfigMaps, resources: ['secrets'] }

  test('has the rules of the selected roles, each once, never its own', () => {
    const all = [
      part('b', { to: 'whole' }, readConfigMaps),
      part('a', { to: 'whole', more: '' }, other, readConfigMaps),
      part('c', {}, { verbs: ['*'] }),
      whole,
    ]
    expect(aggregatedRules(whole, all)).toEqual([other, readConfigMaps])
  })

  test('is undefined without an aggregationRule', () => {
    expect(aggregatedRules(part('a', {}), [])).toBeUndefined()
  })
})
