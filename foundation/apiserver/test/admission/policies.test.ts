// ValidatingAdmissionPolicies: what expressions see, which bindings count, and what is said.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import type { ApiServerOptions } from '@fairlead/apiserver'
import { failureOf, TestApi } from '../support/api.ts'
import type { Answer } from '../support/api.ts'

let api: TestApi

beforeEach(async () => {
  api = await TestApi.start()
})

afterEach(() => api[Symbol.asyncDispose]())

const group = '/apis/admissionregistration.k8s.io/v1'
const path = '/api/v1/namespaces/default/configmaps'
const configMaps = { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }

function policy(spec: JsonObject, name = 'p'): JsonObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: { matchConstraints: { resourceRules: [configMaps] }, ...spec },
  }
}

function binding(spec: JsonObject = {}, name = 'b'): JsonObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: 'p', validationActions: ['Deny'], ...spec },
  }
}

async function enforce(policySpec: JsonObject, bindingSpec?: JsonObject): Promise<void> {
  const answers = [
    await api.post(`${group}/validatingadmissionpolicies`, policy(policySpec)),
    await api.post(`${group}/validatingadmissionpolicybindings`, binding(bindingSpec)),
  ]
  expect(answers.map(({ status, text }) => (status === 201 ? 201 : text))).toEqual([201, 201])
}

const configMap = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { app: 'x' } },
  data: { a: '1' },
  ...more,
})

/** 201, or what came after `denied request: `. */
function verdict({ status, body }: Answer): number | string {
  const message = String(body['message'] ?? '')
  return status < 300 ? status : message.replace(/^.*? denied request: /, '')
}

describe('the variables of expressions', () => {
  const holding: [string, string][] = [
    ['the object', "object.data.a == '1' && object.metadata.name == 'x' && oldObject == null"],
    ['numbers as numbers', 'object.metadata.?generation.orValue(0) == 0'],
    [
      'the request',
      "request.operation == 'CREATE' && request.resource.resource == 'configmaps' && request.name == 'x'",
    ],
    [
      'the kinds',
      "request.kind.kind == 'ConfigMap' && request.requestKind.version == 'v1' && request.kind.group == ''",
    ],
    ['who asks', "request.userInfo.username == 'admin' && 'system:masters' in request.userInfo.groups"],
    ['options', "request.options.kind == 'CreateOptions' && !request.dryRun"],
    ['the namespace', "namespaceObject.metadata.name == 'default' && namespaceObject.status.phase == 'Active'"],
    ['times of the namespace', "namespaceObject.metadata.creationTimestamp > timestamp('2001-01-01T00:00:00Z')"],
    ['no parameters', 'true'],
    ['rights', "authorizer.group('').resource('pods').namespace('default').check('get').allowed()"],
    ['rights to what is asked for', "authorizer.requestResource.check('create').allowed()"],
    ['libraries', "quantity('1Gi').isGreaterThan(quantity('1Mi')) && object.data.map(k, k) == ['a']"],
  ]
  test.each(holding)('%s', async (_name, expression) => {
    await enforce({ validations: [{ expression }] })
    expect(verdict(await api.post(path, configMap('x')))).toBe(201)
  })

  test('expressions on cluster-scoped objects have no namespaceObject', async () => {
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['namespaces'] }
    await enforce({
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "namespaceObject == null && request.name == 'new'" }],
    })
    expect((await api.post('/api/v1/namespaces', { metadata: { name: 'new' } })).status).toBe(201)
    expect((await api.post('/api/v1/namespaces', { metadata: { name: 'other' } })).status).toBe(422)
  })

  test('expressions on deletions have the oldObject only', async () => {
    await api.post(path, configMap('x'))
    await enforce({
      validations: [{ expression: "request.operation != 'DELETE' || (object == null && oldObject.data.a == '2')" }],
    })
    expect(verdict(await api.delete(`${path}/x`))).toContain('failed expression')
    await api.merge(`${path}/x`, { data: { a: '2' } })
    expect((await api.delete(`${path}/x`)).status).toBe(200)
  })

  test('the authorizer variable denies a user without permissions', async () => {
    await api[Symbol.asyncDispose]()
    const tokens: ApiServerOptions['tokens'] = [{ token: 't', user: { name: 'alice', groups: [] } }]
    api = await TestApi.start({ authorization: 'RBAC', tokens })
    await enforce({
      validations: [
        {
          expression:
            "authorizer.serviceAccount('default', 'bot').group('').resource('secrets').check('list').allowed()",
          messageExpression: "'not for ' + request.userInfo.username",
        },
      ],
    })
    expect(verdict(await api.post(path, configMap('x')))).toBe('not for admin')
  })
})

describe('variables', () => {
  test('variables are evaluated on first use and can use earlier ones', async () => {
    await enforce({
      variables: [
        { name: 'size', expression: 'object.data.size()' },
        { name: 'double', expression: 'variables.size * 2' },
        { name: 'broken', expression: 'object.nope' },
      ],
      validations: [
        { expression: 'variables.double == 2', messageExpression: "'double is ' + string(variables.double)" },
        { expression: "object.metadata.name == 'x' || variables.broken == 1" },
      ],
    })
    expect([
      verdict(await api.post(path, configMap('x'))),
      verdict(await api.post(path, configMap('x2', { data: { a: '1', b: '2' } }))),
      verdict(await api.post(path, configMap('y'))),
    ]).toEqual([
      201,
      'double is 4',
      `expression 'object.metadata.name == 'x' || variables.broken == 1' resulted in error: composited variable "broken" fails to evaluate: no such key: nope`,
    ])
  })
})

describe('messages', () => {
  const cases: [string, JsonObject, string][] = [
    ['the message', { message: ' custom ' }, 'custom'],
    ['the expression of a message', { message: 'custom', messageExpression: "'computed'" }, 'computed'],
    ['the message, when its expression fails', { message: 'custom', messageExpression: "object.nope + 'x'" }, 'custom'],
    ['the message, when its expression says nothing', { message: 'custom', messageExpression: "' '" }, 'custom'],
    ['the message, when its expression has lines', { message: 'custom', messageExpression: "'a\\nb'" }, 'custom'],
    ['the expression itself', {}, 'failed expression: 1 == 2'],
  ]
  test.each(cases)('%s', async (_name, more, expected) => {
    await enforce({ validations: [{ expression: ' 1 == 2 ', ...more }] })
    expect(verdict(await api.post(path, configMap('x')))).toBe(expected)
  })

  test.each([
    ['Forbidden', 403],
    ['Invalid', 422],
    ['RequestEntityTooLarge', 413],
  ])('reason %s is code %i', async (reason, code) => {
    await enforce({ validations: [{ expression: 'false', reason }] })
    const answer = await api.post(path, configMap('x'))
    expect([answer.status, answer.body['reason']]).toEqual([code, reason])
  })
})

describe('the requests that a policy matches', () => {
  const cases: [string, JsonObject, JsonObject, boolean][] = [
    ['its rules', {}, {}, true],
    ['names', { matchConstraints: { resourceRules: [{ ...configMaps, resourceNames: ['y'] }] } }, {}, false],
    [
      'what is left out',
      { matchConstraints: { resourceRules: [configMaps], excludeResourceRules: [configMaps] } },
      {},
      false,
    ],
    [
      'labels of objects',
      { matchConstraints: { resourceRules: [configMaps], objectSelector: { matchLabels: { app: 'y' } } } },
      {},
      false,
    ],
    ['conditions', { matchConditions: [{ name: 'c', expression: "object.metadata.name != 'x'" }] }, {}, false],
    ['its binding', {}, { matchResources: { namespaceSelector: { matchLabels: { a: 'b' } } } }, false],
    ['the binding of another policy', {}, { policyName: 'other' }, false],
    [
      'a binding with rules of its own',
      {},
      { matchResources: { resourceRules: [{ ...configMaps, operations: ['CREATE'] }] } },
      true,
    ],
  ]
  test.each(cases)('%s', async (_name, policySpec, bindingSpec, isMeant) => {
    await enforce({ validations: [{ expression: 'false', message: 'no' }], ...policySpec }, bindingSpec)
    expect(verdict(await api.post(path, configMap('x')))).toBe(isMeant ? 'no' : 201)
  })

  test('a matchCondition that fails refuses the request, or is ignored under failurePolicy Ignore', async () => {
    const spec = {
      matchConditions: [
        { name: 'one', expression: 'object.nope == 1' },
        { name: 'two', expression: 'object.nix == 1' },
      ],
      validations: [{ expression: 'false' }],
    }
    await enforce(spec)
    const refused = verdict(await api.post(path, configMap('x')))
    await api.merge(`${group}/validatingadmissionpolicies/p`, { spec: { failurePolicy: 'Ignore' } })
    expect([refused, verdict(await api.post(path, configMap('x')))]).toEqual([
      "[expression 'object.nope == 1' resulted in error: no such key: nope, expression 'object.nix == 1' resulted in error: no such key: nix]",
      201,
    ])
  })
})

describe('actions', () => {
  test('Warn and Deny of two bindings both take effect', async () => {
    await enforce({ validations: [{ expression: 'false', message: 'no' }] }, { validationActions: ['Warn'] })
    const warned = await api.post(path, configMap('x'))
    await api.post(`${group}/validatingadmissionpolicybindings`, binding({}, 'c'))
    const denied = await api.post(path, configMap('y'))
    const warning = `299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"`
    expect([warned.status, warned.headers['warning'], denied.headers['warning'], failureOf(denied)]).toEqual([
      201,
      [warning],
      [warning],
      {
        status: 422,
        reason: 'Invalid',
        message: `configmaps "y" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'c' denied request: no`,
        details: {
          name: 'y',
          kind: 'configmaps',
          causes: [{ message: "ValidatingAdmissionPolicy 'p' with binding 'c' denied request: no" }],
        },
      },
    ])
  })

  test('an audit annotation that fails refuses the request', async () => {
    await enforce(
      { auditAnnotations: [{ key: 'k', valueExpression: "object.nope + 'x'" }] },
      { validationActions: ['Audit'] },
    )
    expect(verdict(await api.post(path, configMap('x')))).toBe(
      "expression 'object.nope + 'x'' resulted in error: no such key: nope",
    )
  })
})

describe('parameters', () => {
  const limits = { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }
  const validation = {
    expression: "request.name.startsWith('limit') || object.data.size() <= int(params.data.max)",
    messageExpression: "'at most ' + params.data.max",
  }
  const limit = (name: string, max: string): Promise<Answer> =>
    api.post(path, { ...configMap(name, { data: { max } }), metadata: { name, labels: { is: 'limit' } } })
  const three = configMap('x', { data: { a: '1', b: '2', c: '3' } })

  test('parameters are found by name in the namespace of the request', async () => {
    await limit('limit', '2')
    await enforce(
      { ...limits, validations: [validation] },
      { paramRef: { name: 'limit', parameterNotFoundAction: 'Deny' } },
    )
    expect(verdict(await api.post(path, three))).toBe('at most 2')
    await api.merge(`${path}/limit`, { data: { max: '3' } })
    expect(verdict(await api.post(path, three))).toBe(201)
  })

  test('every parameter that a selector finds must be satisfied', async () => {
    await limit('limit1', '5')
    await limit('limit2', '1')
    const paramRef = {
      namespace: 'default',
      selector: { matchLabels: { is: 'limit' } },
      parameterNotFoundAction: 'Deny',
    }
    await enforce({ ...limits, validations: [validation] }, { paramRef })
    expect(verdict(await api.post(path, three))).toBe('at most 1')
  })

  test('missing parameters are handled as parameterNotFoundAction says', async () => {
    const refs = ['Deny', 'Allow'].map((parameterNotFoundAction) => ({ name: 'none', parameterNotFoundAction }))
    await enforce({ ...limits, validations: [validation] }, { paramRef: refs[0] as JsonValue })
    const denied = verdict(await api.post(path, three))
    await api.merge(`${group}/validatingadmissionpolicybindings/b`, { spec: { paramRef: refs[1] as JsonValue } })
    expect([denied, verdict(await api.post(path, three))]).toEqual([
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
      201,
    ])
  })

  test('a paramKind that is not served refuses the request', async () => {
    await enforce(
      { paramKind: { apiVersion: 'example.com/v1', kind: 'Limit' }, validations: [{ expression: 'true' }] },
      { paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } },
    )
    const answer = await api.post(path, three)
    expect(answer.body['message']).toBe(
      `configmaps "x" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'`,
    )
  })
})

describe('bounds', () => {
  test('one expression that exceeds its budget refuses the request', async () => {
    const loop = (text: string): string => `[1,2,3,4,5,6,7,8,9,10].all(${text}`
    const expression = `${'abcdef'
      .split('')
      .map((name) => loop(`${name}, `))
      .join('')}a + b + c + d + e + f >= 0${')'.repeat(6)}`
    await enforce({ validations: [{ expression }] })
    expect(verdict(await api.post(path, configMap('x')))).toBe(
      `expression '${expression}' resulted in error: operation cancelled: actual cost limit exceeded`,
    )
  })

  test('expressions that exceed the budget of their policy together refuse the request', async () => {
    const loop = (text: string): string => `[1,2,3,4,5,6,7,8,9,10].all(${text}`
    const expression = `${'abcd'
      .split('')
      .map((name) => loop(`${name}, `))
      .join('')}a + b >= 0${')'.repeat(4)}`
    await enforce({ validations: Array.from({ length: 200 }, () => ({ expression })) })
    expect(verdict(await api.post(path, configMap('x')))).toBe(
      'validation failed due to running out of cost budget, no further validation rules will be run',
    )
  })
})

describe('invalid policies', () => {
  const cases: [string, JsonObject, string][] = [
    [
      'an expression that does not compile',
      { validations: [{ expression: 'object.x ==' }] },
      'spec.validations[0].expression: Invalid value: "object.x ==": compilation failed: ERROR: <input>:1:12: Syntax error: ',
    ],
    [
      'an expression that is no condition',
      { validations: [{ expression: "'a'" }] },
      `spec.validations[0].expression: Invalid value: "'a'": must evaluate to bool`,
    ],
    [
      'an unknown name',
      { validations: [{ expression: 'params.x == 1' }] },
      `spec.validations[0].expression: Invalid value: "params.x == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')`,
    ],
    [
      'an unknown variable',
      { validations: [{ expression: 'variables.x == 1' }], variables: [{ name: 'y', expression: '1' }] },
      `spec.validations[0].expression: Invalid value: "variables.x == 1": compilation failed: ERROR: <input>:1:10: undefined field 'x'`,
    ],
    [
      'a message that is no text',
      { validations: [{ expression: 'true', messageExpression: '1' }] },
      'spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string',
    ],
    [
      'a message that asks for rights',
      { validations: [{ expression: 'true', messageExpression: "authorizer.path('/x').check('get').reason()" }] },
      `undeclared reference to 'authorizer'`,
    ],
    [
      'a condition without a name',
      { validations: [{ expression: 'true' }], matchConditions: [{ name: '', expression: 'true' }] },
      'spec.matchConditions[0].name: Required value',
    ],
    [
      'two conditions of one name',
      {
        validations: [{ expression: 'true' }],
        matchConditions: [
          { name: 'a', expression: 'true' },
          { name: 'a', expression: '1' },
        ],
      },
      'spec.matchConditions[1].expression: Invalid value: "1": must evaluate to bool',
    ],
    [
      'a variable without a proper name',
      { validations: [{ expression: 'true' }], variables: [{ name: 'a-b', expression: '1' }] },
      'spec.variables[0].name: Invalid value: "a-b": must be a valid CEL identifier',
    ],
    [
      'an unknown reason',
      { validations: [{ expression: 'true', reason: 'Odd' }] },
      'spec.validations[0].reason: Unsupported value: "Odd"',
    ],
    [
      'a message of two lines',
      { validations: [{ expression: 'true', message: 'a\nb' }] },
      'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
    ],
  ]
  test.each(cases)('%s', async (_name, spec, message) => {
    const answer = await api.post(`${group}/validatingadmissionpolicies?dryRun=All`, policy(spec))
    expect(answer.status).toBe(422)
    expect(answer.body['message']).toContain(message)
  })

  test('invalid matchConditions of webhooks are refused as well', async () => {
    const answer = await api.post(`${group}/validatingwebhookconfigurations?dryRun=All`, {
      metadata: { name: 'w' },
      webhooks: [
        {
          name: 'a.b.c',
          clientConfig: { url: 'https://x' },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          matchConditions: [{ name: 'x', expression: 'nope' }],
        },
      ],
    })
    expect(answer.body['message']).toContain(
      `webhooks[0].matchConditions[0].expression: Invalid value: "nope": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')`,
    )
  })
})

describe('type checking', () => {
  beforeEach(async () => {
    await api[Symbol.asyncDispose]()
    api = await TestApi.start({ controllers: ['crd', 'policy-status'] })
  })

  async function checked(spec: JsonObject): Promise<JsonValue> {
    await api.post(`${group}/validatingadmissionpolicies`, policy(spec))
    for (;;) {
      const { body } = await api.get(`${group}/validatingadmissionpolicies/p`)
      const status = body['status'] as JsonObject | undefined
      if (status?.['observedGeneration'] !== undefined) return status
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  const rule = (apiGroup: string, version: string, resources: string[]): JsonObject => ({
    resourceRules: [{ apiGroups: [apiGroup], apiVersions: [version], operations: ['CREATE'], resources }],
  })

  const cases: [string, JsonObject, [string, string][]][] = [
    [
      'fields that there are',
      {
        matchConstraints: rule('apps', 'v1', ['deployments']),
        validations: [{ expression: "object.spec.replicas > 1 && object.metadata.labels['a'] == 'b'" }],
      },
      [],
    ],
    [
      'a field that there is not',
      { matchConstraints: rule('apps', 'v1', ['deployments']), validations: [{ expression: 'object.replicas > 1' }] },
      [
        [
          'spec.validations[0].expression',
          "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^",
        ],
      ],
    ],
    [
      'each of several types',
      {
        matchConstraints: rule('', 'v1', ['secrets', 'configmaps', 'pods/status']),
        validations: [{ expression: "object.type == 'x'", messageExpression: 'string(object.nope)' }],
      },
      [
        [
          'spec.validations[0].expression',
          "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'type'\n | object.type == 'x'\n | ......^",
        ],
        ['spec.validations[0].messageExpression', 'nope'],
      ],
    ],
    [
      'variables',
      {
        matchConstraints: rule('', 'v1', ['configmaps']),
        variables: [{ name: 'data', expression: 'object.data' }],
        validations: [{ expression: "variables.data['a'] > 1" }],
      },
      [['spec.validations[0].expression', "found no matching overload for '_>_' applied to '(string, int)'"]],
    ],
    ['wildcards', { matchConstraints: rule('*', '*', ['*']), validations: [{ expression: 'object.nope == 1' }] }, []],
  ]
  test.each(cases)('of %s', async (_name, spec, expected) => {
    const status = (await checked(spec)) as {
      observedGeneration: number
      typeChecking?: { expressionWarnings?: { fieldRef: string; warning: string }[] }
    }
    const warnings = status.typeChecking?.expressionWarnings ?? []
    expect(status.observedGeneration).toBe(1)
    expect(warnings.map(({ fieldRef }) => fieldRef)).toEqual(expected.map(([fieldRef]) => fieldRef))
    for (const [index, [, text]] of expected.entries()) expect(warnings[index]!.warning).toContain(text)
  })
})
