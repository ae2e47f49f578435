// Prevention of privilege escalation. Messages: recordings auth/escalation-*.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkEscalation, describeRule, missingRules, RbacAuthorizer, ruleAllows } from '@fairlead/apiserver'
import type { Binding, Grant, PolicyRule, RbacWrite, RoleReader, RoleRef, UserInfo } from '@fairlead/apiserver'
import type { KubeObject } from '@fairlead/kube'

const group = 'rbac.authorization.k8s.io'
const alice: UserInfo = { name: 'alice', groups: ['devs', 'system:authenticated'] }
const admin: UserInfo = { name: 'admin', groups: ['system:masters'] }
const readConfigMaps: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }
const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** Alice holds `held`; bindings may refer to further roles. */
function state(
  held: readonly PolicyRule[],
  roles: Readonly<Record<string, readonly PolicyRule[]>> = {},
): Parameters<typeof checkEscalation>[1] {
  const subject = { kind: 'User', name: 'alice', namespace: '' }
  const binding: Binding = {
    namespace: '',
    name: 'held',
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'held' },
    subjects: [subject],
  }
  const reader: RoleReader = {
    rulesOf: ({ kind, name }: RoleRef) => (name === 'held' ? held : roles[`${kind} ${name}`]),
    grantsOf: ({ name }): readonly Grant[] => (name === 'alice' ? [{ binding, subject }] : []),
  }
  return { roles: reader, authorizer: new RbacAuthorizer(reader) }
}

function role(name: string, rules: readonly PolicyRule[] | null, more: object = {}): KubeObject {
  return { apiVersion: `${group}/v1`, kind: 'Role', metadata: { name, namespace: 'ns' }, rules, ...more }
}

function binding(name: string, kind: string, roleName: string): KubeObject {
  return {
    apiVersion: `${group}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace: 'ns' },
    roleRef: { apiGroup: group, kind, name: roleName },
  }
}

function write(resource: RbacWrite['resource'], object: KubeObject, more: Partial<RbacWrite> = {}): RbacWrite {
  return {
    user: alice,
    resource,
    namespace: resource.startsWith('cluster') ? '' : 'ns',
    requestName: '',
    object,
    old: undefined,
    ...more,
  }
}

const refusal =
  'user "alice" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:'

describe('a write of a role', () => {
  test('may grant permissions that its user holds', () => {
    expect(checkEscalation(write('roles', role('ok', [readConfigMaps])), state([readConfigMaps]))).toBeUndefined()
    expect(checkEscalation(write('roles', role('ok', null)), state([]))).toBeUndefined()
  })

  test('may not grant further permissions', () => {
    const rules = [
      { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] },
      { apiGroups: ['apps'], resources: ['*'], verbs: ['*'] },
    ]
    expect(checkEscalation(write('roles', role('bad', rules)), state([readConfigMaps]))?.status).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `roles.rbac.authorization.k8s.io "bad" is forbidden: ${refusal}\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}\n{APIGroups:["apps"], Resources:["*"], Verbs:["*"]}`,
      reason: 'Forbidden',
      details: { name: 'bad', group, kind: 'roles' },
      code: 403,
    })
  })

  test('may not add permissions; the error lists only the missing ones', () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'delete'] }]
    const change = write('roles', role('ok', rules), { requestName: 'ok', old: role('ok', [readConfigMaps]) })
    expect(checkEscalation(change, state([readConfigMaps]))?.message).toBe(
      `roles.rbac.authorization.k8s.io "ok" is forbidden: ${refusal}\n{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}`,
    )
  })

  test('may always remove finalizers and owner references', () => {
    const old = role('big', everything)
    const owned = { ...old, metadata: { ...old.metadata, finalizers: ['x/y'], ownerReferences: [] } }
    expect(checkEscalation(write('roles', old, { old: owned }), state([]))).toBeUndefined()
  })

  test.each([
    ['every role', {}, '', true],
    ['the named role when it is changed', { resourceNames: ['big'] }, 'big', true],
    ['the named role when it is created', { resourceNames: ['big'] }, '', false],
  ])('gives everything when its writer may escalate %s', (_, names, requestName, allowed) => {
    const escalate = { verbs: ['escalate'], apiGroups: [group], resources: ['roles'], ...names }
    const error = checkEscalation(write('roles', role('big', everything), { requestName }), state([escalate]))
    expect(error === undefined).toBe(allowed)
  })

  test('may grant all permissions for system:masters', () => {
    expect(checkEscalation(write('roles', role('big', everything), { user: admin }), state([]))).toBeUndefined()
  })

  test('may add or keep an aggregationRule only for cluster administrators', () => {
    const plain = role('agg', [])
    const aggregating = { ...plain, aggregationRule: { clusterRoleSelectors: [{}] } }
    const text =
      'clusterroles.rbac.authorization.k8s.io "agg" is forbidden: must have cluster-admin privileges to use the aggregationRule'
    const outcomes = [
      checkEscalation(write('clusterroles', aggregating), state([readConfigMaps])),
      checkEscalation(write('clusterroles', plain, { old: aggregating }), state([readConfigMaps])),
      checkEscalation(write('clusterroles', aggregating), state(everything)),
    ]
    expect(outcomes.map((error) => error?.message)).toEqual([text, text, undefined])
  })
})

describe('a write of a binding', () => {
  const roles = {
    'Role mgr': [readConfigMaps],
    'ClusterRole cluster-admin': everything,
    'ClusterRole admin': everything,
  }

  test('may bind a role whose rules its user holds', () => {
    expect(
      checkEscalation(write('rolebindings', binding('self', 'Role', 'mgr')), state([readConfigMaps], roles)),
    ).toBeUndefined()
  })

  test('may not grant further permissions', () => {
    expect(
      checkEscalation(
        write('rolebindings', binding('adm', 'ClusterRole', 'cluster-admin')),
        state([readConfigMaps], roles),
      )?.message,
    ).toBe(
      `rolebindings.rbac.authorization.k8s.io "adm" is forbidden: ${refusal}\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}`,
    )
  })

  test('to a missing role gives 404 with the binding resource', () => {
    expect(
      checkEscalation(write('rolebindings', binding('nf', 'Role', 'doesnotexist')), state([], roles))?.status,
    ).toMatchObject({
      message: 'rolebindings.rbac.authorization.k8s.io "doesnotexist" not found',
      reason: 'NotFound',
      details: { name: 'doesnotexist', group, kind: 'rolebindings' },
    })
  })

  test('may bind roles for which its user has the verb bind', () => {
    const bind = { verbs: ['bind'], apiGroups: [group], resources: ['clusterroles'], resourceNames: ['admin'] }
    const outcomes = ['admin', 'cluster-admin'].map((name) =>
      checkEscalation(write('rolebindings', binding('b', 'ClusterRole', name)), state([bind], roles)),
    )
    expect(outcomes.map((error) => error === undefined)).toEqual([true, false])
  })

  test('reports the bound roles that are missing', () => {
    const base = state([], roles)
    const broken: RoleReader = {
      ...base.roles,
      grantsOf: base.roles.grantsOf,
      rulesOf: (ref, namespace) => (ref.name === 'held' ? undefined : base.roles.rulesOf(ref, namespace)),
    }
    const error = checkEscalation(write('rolebindings', binding('b', 'Role', 'mgr')), {
      roles: broken,
      authorizer: new RbacAuthorizer(broken),
    })
    expect(error?.message).toMatch(
      /Verbs:\["get"\]}; resolution errors: \[clusterrole\.rbac\.authorization\.k8s\.io "held" not found\]$/,
    )
  })
})

describe('rule coverage', () => {
  const rule = (verbs: string, apiGroups: string, resources: string, resourceNames = ''): PolicyRule => ({
    verbs: verbs.split(' '),
    apiGroups: apiGroups.split(' '),
    resources: resources.split(' '),
    ...(resourceNames !== '' && { resourceNames: resourceNames.split(' ') }),
  })
  test.each([
    [[rule('get list', '', 'pods')], [rule('get', '', 'pods')], []],
    [[rule('get', '', 'pods'), rule('list', '', 'pods')], [rule('get list', '', 'pods')], []],
    [[rule('*', '*', '*')], [rule('get', 'apps', 'deployments/status')], []],
    [[rule('get', '*', '*/status')], [rule('get', 'apps', 'deployments/status')], []],
    [[rule('get', '*', '*/status')], [rule('get', 'apps', 'deployments')], [rule('get', 'apps', 'deployments')]],
    [[rule('get', '', 'pods', 'a b')], [rule('get', '', 'pods', 'a')], []],
    [[rule('get', '', 'pods')], [rule('get', '', 'pods', 'a')], []],
    [[rule('get', '', 'pods', 'a')], [rule('get', '', 'pods')], [rule('get', '', 'pods')]],
    [[rule('get', '', 'pods', 'a')], [rule('get', '', 'pods', 'a b')], [rule('get', '', 'pods', 'b')]],
    [
      [{ verbs: ['get'], nonResourceURLs: ['/a/*'] }],
      [{ verbs: ['get'], nonResourceURLs: ['/a/b', '/c'] }],
      [{ verbs: ['get'], nonResourceURLs: ['/c'] }],
    ],
  ] satisfies [PolicyRule[], PolicyRule[], PolicyRule[]][])('%j over %j leaves %j', (held, wanted, missing) => {
    expect(missingRules(held, wanted)).toEqual(missing)
  })

  const names = fc.subarray(['a', 'b', '*'], { minLength: 1 })
  const anyRule: fc.Arbitrary<PolicyRule> = fc.record({
    verbs: fc.subarray(['get', 'list', '*'], { minLength: 1 }),
    apiGroups: fc.subarray(['', 'apps', '*'], { minLength: 1 }),
    resources: fc.subarray(['pods', 'pods/log', '*/log', '*'], { minLength: 1 }),
    resourceNames: fc.option(names, { nil: undefined }),
  })

  test('implies that the held rules allow every request that the wanted rules allow', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 3 }), fc.array(anyRule, { maxLength: 3 }), (held, wanted) => {
        if (missingRules(held, wanted).length > 0) return
        for (const verb of ['get', 'list', 'other']) {
          for (const apiGroup of ['', 'apps', 'other']) {
            for (const subresource of ['', 'log']) {
              for (const name of ['', 'a', 'b', 'c']) {
                const attributes = { user: alice, verb, group: apiGroup, resource: 'pods', subresource, name }
                const allows = (rules: readonly PolicyRule[]): boolean =>
                  rules.some((candidate) => ruleAllows(candidate, attributes))
                if (allows(wanted)) expect(allows(held)).toBe(true)
              }
            }
          }
        }
      }),
    )
  })

  test('formats rules like Go', () => {
    expect(describeRule({ verbs: ['get'], apiGroups: ['a"b'], resources: ['x'], resourceNames: ['n'] })).toBe(
      '{APIGroups:["a\\"b"], Resources:["x"], ResourceNames:["n"], Verbs:["get"]}',
    )
  })
})
