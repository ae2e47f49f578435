// The strategies of built-in kinds: immutable fields, conversions, allocation, deletion.
import { BlockList } from 'node:net'
import type { FieldError, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { asObject, fieldErrors, formatFieldError } from '@fairlead/kube'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { builtinResources } from '@fairlead/builtin-kinds'
import { describe, expect, test, vi } from 'vitest'
import { StepCounter } from '../../../test/growth/step-counter.ts'

function definitionOf(group: string, kind: string): ResourceDefinition {
  const found = builtinResources().find((definition) => definition.group === group && definition.kind === kind)
  if (found === undefined) throw new Error(`no kind ${kind} in ${group}`)
  return found
}

const jobTemplate = {
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
}

type Draft = { metadata: Record<string, JsonValue> } & Record<string, JsonValue>

function made(definition: ResourceDefinition, body: JsonObject, list: readonly KubeObject[] = []): Draft {
  const draft = (definition.versions[0]?.decode?.(body).object ?? body) as Draft
  draft.metadata['uid'] ??= '00000a00-0000-4000-8000-000000000000'
  definition.strategy.applyDefaults?.(draft)
  definition.strategy.admit?.(draft, undefined, contextOf(list))
  definition.strategy.prepareForCreate?.(draft, contextOf(list))
  return draft
}

function contextOf(
  list: readonly KubeObject[],
  read: (resource: string, key: string) => KubeObject | undefined = () => undefined,
) {
  return {
    user: { name: 'admin', groups: [] },
    now: Date.UTC(2001, 0, 1),
    apiVersion: 'v1',
    dryRun: false,
    subresource: '',
    newUid: () => 'u',
    read,
    list: () => list,
  }
}

async function updateErrors(
  definition: ResourceDefinition,
  body: JsonObject,
  change: (draft: Draft) => void,
): Promise<string[]> {
  const old = asObject(made(definition, body))
  const changed = structuredClone(old) as unknown as Draft
  change(changed)
  definition.strategy.applyDefaults?.(changed)
  definition.strategy.admit?.(changed, old, contextOf([]))
  definition.strategy.prepareForUpdate?.(changed, old, contextOf([]))
  const errors: readonly FieldError[] =
    (await definition.strategy.validateUpdate?.(asObject(changed), old, contextOf([]))) ?? []
  return errors.map(formatFieldError)
}

const labels = { app: 'x' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
const workload = (apiVersion: string, kind: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion,
  kind,
  metadata: { name: 'w' },
  spec: { selector: { matchLabels: labels }, template, ...spec },
})

const spec = (draft: Draft): Record<string, JsonValue> => draft['spec'] as Record<string, JsonValue>

describe('immutable fields', () => {
  test.each<[group: string, kind: string, body: JsonObject, change: (draft: Draft) => void, errors: string[]]>([
    [
      'apps',
      'Deployment',
      workload('apps/v1', 'Deployment'),
      (draft) => {
        spec(draft)['selector'] = { matchLabels: labels, matchExpressions: [{ key: 'app', operator: 'Exists' }] }
      },
      [
        'spec.selector: Invalid value: {"matchLabels":{"app":"x"},"matchExpressions":[{"key":"app","operator":"Exists"}]}: field is immutable',
      ],
    ],
    [
      'apps',
      'StatefulSet',
      workload('apps/v1', 'StatefulSet', { serviceName: 's' }),
      (draft) => {
        spec(draft)['serviceName'] = 't'
      },
      [
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      ],
    ],
    [
      '',
      'Secret',
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, immutable: true, data: { a: 'YQ==' } },
      (draft) => {
        draft['data'] = { a: 'Yg==' }
      },
      ['data: Forbidden: field is immutable when `immutable` is set'],
    ],
    [
      '',
      'ConfigMap',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 's' }, immutable: true },
      (draft) => {
        draft['immutable'] = false
      },
      ['immutable: Forbidden: field is immutable when `immutable` is set'],
    ],
    [
      'rbac.authorization.k8s.io',
      'RoleBinding',
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'b' },
        roleRef: { kind: 'Role', name: 'r' },
      },
      (draft) => {
        draft['roleRef'] = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'other' }
      },
      [
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: cannot change roleRef',
      ],
    ],
    [
      'batch',
      'Job',
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'j' },
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
      },
      (draft) => {
        spec(draft)['completions'] = 4
      },
      ['spec.completions: Invalid value: 4: field is immutable'],
    ],
    [
      'storage.k8s.io',
      'StorageClass',
      { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 's' }, provisioner: 'a/b' },
      (draft) => {
        draft['provisioner'] = 'c/d'
      },
      ['provisioner: Forbidden: updates to provisioner are forbidden.'],
    ],
  ])('%s %s', async (group, kind, body, change, errors) => {
    expect(await updateErrors(definitionOf(group, kind), body, change)).toEqual(errors)
  })

  test('a pod allows changes of images and additional tolerations only', async () => {
    const definition = definitionOf('', 'Pod')
    const body = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    }
    const tolerated = (draft: Draft): void => {
      spec(draft)['containers'] = [{ ...(spec(draft)['containers'] as JsonObject[])[0], image: 'j' }]
      spec(draft)['tolerations'] = [...(spec(draft)['tolerations'] as JsonObject[]), { key: 'k', operator: 'Exists' }]
    }
    const moved = (draft: Draft): void => {
      spec(draft)['nodeName'] = 'n'
    }
    const [refusal = ''] = await updateErrors(definition, body, moved)
    expect(await updateErrors(definition, body, tolerated)).toEqual([])
    expect(refusal.split('\n').slice(1)).toEqual([
      '@@ -42,7 +42,7 @@',
      '  "NodeSelector": null,',
      '  "ServiceAccountName": "",',
      '  "AutomountServiceAccountToken": null,',
      '- "NodeName": "",',
      '+ "NodeName": "n",',
      '  "SecurityContext": {',
      '   "HostNetwork": false,',
      '   "HostPID": false,',
      '',
    ])
  })
})

describe('services', () => {
  const definition = definitionOf('', 'Service')
  const body = (fields: JsonObject = {}): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's' },
    spec: { ports: [{ port: 80 }], ...fields },
  })

  test('get unique cluster IPs until the range is full', () => {
    const others: KubeObject[] = []
    for (let count = 0; count < 253; count++) {
      const service = made(definition, body(), others)
      service.metadata['uid'] = `taken-${count}`
      others.push(asObject(service))
    }
    const addresses = new Set(others.map((service) => (service['spec'] as JsonObject)['clusterIP']))
    expect(addresses.size).toBe(253)
    expect(() => made(definition, body(), others)).toThrow('failed to allocate a serviceIP: range is full')
  })

  test('keep allocated values that an update omits', () => {
    const old = asObject(made(definition, body({ type: 'NodePort' })))
    const next = definition.versions[0]?.decode?.(body({ type: 'NodePort' })).object as Draft
    definition.strategy.applyDefaults?.(next)
    definition.strategy.prepareForUpdate?.(next, old, contextOf([]))
    expect(next['spec']).toEqual(old['spec'])
  })

  test.each<[what: string, fields: JsonObject, errors: string[]]>([
    [
      'an address out of range',
      { clusterIP: '1.2.3.4' },
      [
        'spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided network does not match the current range',
      ],
    ],
    [
      'an address of another service',
      { clusterIP: '10.0.0.7' },
      [
        'spec.clusterIPs: Invalid value: ["10.0.0.7"]: failed to allocate IP 10.0.0.7: provided IP is already allocated',
      ],
    ],
    [
      'a port out of range',
      { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] },
      [
        'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
      ],
    ],
    [
      'a port of another service',
      { type: 'NodePort', ports: [{ port: 80, nodePort: 30_007 }] },
      ['spec.ports[0].nodePort: Invalid value: 30007: provided port is already allocated'],
    ],
    [
      'a free address and port',
      { type: 'NodePort', clusterIP: '10.0.0.8', ports: [{ port: 80, nodePort: 30_008 }] },
      [],
    ],
  ])('reject invalid requested allocations: %s', async (_what, fields, errors) => {
    const other = made(
      definition,
      body({ type: 'NodePort', clusterIP: '10.0.0.7', ports: [{ port: 80, nodePort: 30_007 }] }),
    )
    other.metadata['uid'] = 'another'
    const list = [asObject(other)]
    const found =
      (await definition.strategy.validate?.(asObject(made(definition, body(fields), list)), contextOf(list))) ?? []
    expect(found.map(formatFieldError)).toEqual(errors)
  })

  test('release values that their new type does not have', () => {
    const old = asObject(made(definition, body({ type: 'LoadBalancer' })))
    const become = (fields: JsonObject): JsonValue | undefined => {
      const next = structuredClone(old) as unknown as Draft
      Object.assign(spec(next), fields)
      definition.strategy.applyDefaults?.(next)
      definition.strategy.prepareForUpdate?.(next, old, contextOf([]))
      return next['spec']
    }
    const { clusterIP } = old['spec'] as { clusterIP: string }
    expect(become({ type: 'ClusterIP' })).toEqual({
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      clusterIP,
      clusterIPs: [clusterIP],
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
    })
    expect(Object.keys(become({ type: 'ExternalName', externalName: 'a.b' }) as JsonObject)).not.toContain('clusterIP')
  })

  test('of type NodePort get distinct node ports', () => {
    const ports = ['a', 'b', 'c'].map((name, index) => ({ name, port: 80 + index }))
    const service = made(definition, body({ type: 'NodePort', ports }))
    const nodePorts = (spec(service)['ports'] as { nodePort: number }[]).map(({ nodePort }) => nodePort)
    expect(new Set(nodePorts).size).toBe(3)
    expect(nodePorts.every((port) => port >= 30_000 && port < 32_768)).toBe(true)
  })
})

describe('pods', () => {
  const definition = definitionOf('', 'Pod')
  const pod = (fields: JsonObject, resources: JsonObject = {}): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i', resources }], ...fields },
  })

  test.each<[what: string, resources: JsonObject, qosClass: string]>([
    ['no resources', {}, 'BestEffort'],
    ['requests only', { requests: { cpu: '1' } }, 'Burstable'],
    ['limits of both', { limits: { cpu: '1', memory: '1Gi' } }, 'Guaranteed'],
    ['requests below limits', { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '1Gi' } }, 'Burstable'],
  ])('with %s have the QoS class %s', (_what, resources, qosClass) => {
    expect(made(definition, pod({}, resources))['status']).toEqual({ phase: 'Pending', qosClass })
  })

  test.each<[what: string, pod: JsonObject, seconds: number]>([
    ['not scheduled', { spec: {} }, 0],
    ['scheduled', { spec: { nodeName: 'n', terminationGracePeriodSeconds: 5 } }, 5],
    ['scheduled without a grace period', { spec: { nodeName: 'n' } }, 30],
    ['completed', { spec: { nodeName: 'n' }, status: { phase: 'Succeeded' } }, 0],
  ])('%s: %j has a grace period of %d s', (_what, fields, seconds) => {
    expect(
      definition.strategy.gracePeriodSeconds?.(asObject({ apiVersion: 'v1', kind: 'Pod', metadata: {}, ...fields })),
    ).toBe(seconds)
  })

  test('of a priority class get its priority', () => {
    const priorityClass = asObject({
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'high' },
      value: 7,
      preemptionPolicy: 'Never',
    })
    const draft = definition.versions[0]?.decode?.(pod({ priorityClassName: 'high' })).object as Draft
    definition.strategy.admit?.(
      draft,
      undefined,
      contextOf([], (_resource, key) => (key === 'high' ? priorityClass : undefined)),
    )
    expect([spec(draft)['priority'], spec(draft)['preemptionPolicy']]).toEqual([7, 'Never'])
  })

  test('may have sysctls whose segments begin and end with a letter or digit only', async () => {
    const names = [
      'foo-',
      'kernel.shmmax',
      'net/ipv4/tcp_syn-cookies',
      'safe-and-unsafe',
      '-a',
      'a.-b',
      'bar..',
      'a_.b',
    ]
    const sysctls = names.map((name) => ({ name, value: '1' }))
    const object = asObject(made(definition, pod({ securityContext: { sysctls } })))
    const errors = (await definition.strategy.validate?.(object, contextOf([]))) ?? []
    const refused = errors
      .map(formatFieldError)
      .map((error) => /Invalid value: "(.*?)": must have at most 253/.exec(error)?.[1])
    expect(refused).toEqual(['foo-', '-a', 'a.-b', 'bar..', 'a_.b'])
  })

  test('of an unknown priority class are rejected', () => {
    expect(() => made(definition, pod({ priorityClassName: 'nope' }))).toThrow(
      'no PriorityClass with name nope was found',
    )
  })
})

describe('conversion', () => {
  const there = (definition: ResourceDefinition, object: KubeObject, apiVersion: string): KubeObject => {
    const [converted] = definition.convert?.([object], apiVersion) as readonly KubeObject[]
    if (converted === undefined) throw new Error('nothing came back')
    return converted
  }

  test('of events round-trips between both groups', () => {
    const definition = definitionOf('', 'Event')
    const event = asObject({
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', name: 'p' },
      reason: 'R',
      message: 'm',
      source: { component: 'c' },
      firstTimestamp: '2001-01-01T00:00:00Z',
      lastTimestamp: null,
      count: 2,
      type: 'Normal',
      eventTime: null,
      reportingComponent: '',
      reportingInstance: '',
    })
    const other = there(definition, event, 'events.k8s.io/v1')
    expect(other).toEqual({
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      metadata: { name: 'e' },
      eventTime: null,
      reason: 'R',
      regarding: { kind: 'Pod', name: 'p' },
      note: 'm',
      type: 'Normal',
      deprecatedSource: { component: 'c' },
      deprecatedFirstTimestamp: '2001-01-01T00:00:00Z',
      deprecatedLastTimestamp: null,
      deprecatedCount: 2,
    })
    expect(there(definition, other, 'v1')).toEqual(event)
  })

  test("of autoscalers keeps v2's values in annotations of v1", () => {
    const definition = definitionOf('autoscaling', 'HorizontalPodAutoscaler')
    const memory = {
      type: 'Resource',
      resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
    }
    const autoscaler = asObject(
      made(definition, {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'h', annotations: { a: 'b' } },
        spec: {
          scaleTargetRef: { kind: 'Deployment', name: 'd' },
          maxReplicas: 3,
          metrics: [
            memory,
            { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
          ],
          behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
        },
      }),
    )
    const old = there(definition, autoscaler, 'autoscaling/v1')
    expect(old['spec']).toEqual({
      scaleTargetRef: { kind: 'Deployment', name: 'd' },
      minReplicas: 1,
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 50,
    })
    // As a real kube-apiserver 1.35.4 writes them.
    expect(old.metadata.annotations).toEqual({
      a: 'b',
      'autoscaling.alpha.kubernetes.io/metrics':
        '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]',
      'autoscaling.alpha.kubernetes.io/behavior':
        '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":60,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}',
    })
    expect(there(definition, old, 'autoscaling/v2')).toEqual(autoscaler)
  })
})

test.each([
  ['*/5 * * * *', []],
  ['0 0 1-15/3 jan,mar mon-fri', []],
  ['@hourly', []],
  ['@every 1h30m', []],
  ['TZ=UTC 0 0 * * *', ['cannot use TZ or CRON_TZ in schedule, use timeZone field instead']],
  ['every day', ['expected exactly 5 fields, found 2: [every day]']],
  ['60 * * * *', ['end of range (60) above maximum (59): 60']],
  ['* * 0 * *', ['beginning of range (0) below minimum (1): 0']],
  ['5-1 * * * *', ['beginning of range (5) beyond end of range (1): 5-1']],
  ['*/0 * * * *', ['step of range should be a positive number: */0']],
  ['x * * * *', ['failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax']],
])('schedule %s has the errors %j', async (schedule, problems) => {
  const definition = definitionOf('batch', 'CronJob')
  const draft = made(definition, {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'c' },
    spec: { schedule, jobTemplate },
  })
  const errors = (await definition.strategy.validate?.(asObject(draft), contextOf([]))) ?? []
  expect(errors.map(({ detail }) => detail)).toEqual(problems)
})

test('a schedule that repeats a part thousands of times is validated once for all', async () => {
  const definition = definitionOf('batch', 'CronJob')
  await using counter = await StepCounter.start()
  const steps = async (parts: number): Promise<number> => {
    const schedule = `${Array.from({ length: parts }, () => '1-5').join(',')} * * * *`
    const body = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'c' }, spec: { schedule, jobTemplate } }
    const draft = made(definition, body)
    return counter.count(async () => definition.strategy.validate?.(asObject(draft), contextOf([])))
  }
  await steps(1)
  // What earlier tests left behind adds a few.
  expect(await steps(5_000)).toBeLessThan(2 * (await steps(1)))
})

test('a policy of a Job that was changed is shown in its internal form', async () => {
  const definition = definitionOf('batch', 'Job')
  const job = (policies: JsonObject): JsonObject => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j' },
    spec: { ...jobTemplate.spec, completionMode: 'Indexed', completions: 2, ...policies },
  })
  const rules = [{ action: 'Ignore', onPodConditions: [{ type: 'A', status: 'True' }] }]
  const changed = made(
    definition,
    job({ podFailurePolicy: { rules }, successPolicy: { rules: [{ succeededCount: 1 }] } }),
  )
  const old = asObject(made(definition, job({})))
  const errors = (await definition.strategy.validateUpdate?.(asObject(changed), old, contextOf([]))) ?? []
  expect(errors.map(formatFieldError).filter((text) => /Policy: .*immutable/.test(text))).toEqual([
    'spec.podFailurePolicy: Invalid value: {"Rules":[{"Action":"Ignore","OnExitCodes":null,"OnPodConditions":[{"Type":"A","Status":"True"}]}]}: field is immutable',
    'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: field is immutable',
  ])
})

test.each([
  [
    'those of its containers together, then its limits',
    { limits: { cpu: '4', memory: '1Gi' } },
    { limits: { cpu: '4', memory: '1Gi' }, requests: { cpu: '2', memory: '1Gi' } },
    'Burstable',
  ],
  [
    'its own',
    { limits: { cpu: '4' }, requests: { cpu: '3' } },
    { limits: { cpu: '4' }, requests: { cpu: '3' } },
    'Burstable',
  ],
  ['none without limits of its own', {}, {}, 'BestEffort'],
])('the requests of a whole pod are %s', (_name, resources, expected, qosClass) => {
  const definition = definitionOf('', 'Pod')
  const container = (name: string, cpu: string): JsonObject => ({ name, image: 'i', resources: { requests: { cpu } } })
  const spec = { resources, containers: [container('a', '500m'), container('b', '1500m')] }
  const pod = made(definition, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec })
  expect([(pod['spec'] as JsonObject)['resources'], (pod['status'] as JsonObject)['qosClass']]).toEqual([
    expected,
    qosClass,
  ])
})

test('a network policy builds one list of addresses for a block, whatever the number of its exceptions', async () => {
  const definition = definitionOf('networking.k8s.io', 'NetworkPolicy')
  using added = vi.spyOn(BlockList.prototype, 'addSubnet')
  const except = Array.from({ length: 5_000 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`)
  const ingress = [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: [...except, '11.0.0.0/24'] } }] }]
  const spec = { podSelector: {}, ingress }
  const body = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'p' }, spec }
  const errors = (await definition.strategy.validate?.(asObject(made(definition, body)), contextOf([]))) ?? []
  expect(errors.map(formatFieldError)).toEqual([
    'spec.ingress[0].from[0].ipBlock.except[5000]: Invalid value: "11.0.0.0/24": must be a strict subset of `cidr`',
  ])
  expect(added).toHaveBeenCalledTimes(1)
})

test('the variables of a policy are compiled once each, in the scope of those before them', async () => {
  const definition = definitionOf('admissionregistration.k8s.io', 'ValidatingAdmissionPolicy')
  const errorsOf = async (variables: readonly JsonObject[]): Promise<readonly string[]> => {
    const spec = { variables, validations: [{ expression: 'true' }] }
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'p' },
    }
    const errors = await definition.strategy.validate?.(asObject(made(definition, { ...body, spec })), contextOf([]))
    return (errors ?? [])
      .map(({ field, detail }) => `${field}: ${detail}`)
      .filter((text) => text.startsWith('spec.variables'))
  }
  expect(
    await errorsOf([
      { name: 'a', expression: '1' },
      { name: 'b', expression: 'variables.a + 1' },
    ]),
  ).toEqual([])
  const [own, later, unnamed] = await errorsOf([
    { name: 'a', expression: 'variables.a' },
    { name: 'b', expression: 'variables.c' },
    { name: '', expression: '' },
    { name: 'c', expression: '1' },
  ])
  expect([own, later]).toEqual([
    expect.stringContaining("undefined field 'a'"),
    expect.stringContaining("undefined field 'c'"),
  ])
  expect(unnamed).toContain('spec.variables[2].name')
  await using counter = await StepCounter.start()
  const many = (count: number) => async (): Promise<void> => {
    await errorsOf(
      Array.from({ length: count }, (_, n) => ({ name: `v${n}`, expression: n === 0 ? '1' : `variables.v${n - 1}` })),
    )
  }
  await counter.count(many(10))
  // Ten times as many: a hundred times the steps when each compiles those before it.
  expect(await counter.count(many(200))).toBeLessThan(20 * (await counter.count(many(20))))
})

test('a LimitRange with thousands of resources is read once for all', async () => {
  const definition = definitionOf('', 'LimitRange')
  const reads = async (resources: number): Promise<number> => {
    let count = 0
    const amounts = Object.fromEntries(Array.from({ length: resources }, (_, n) => [`example.com/r${n}`, '1']))
    const max = new Proxy(amounts, { ownKeys: (target) => (count++, Reflect.ownKeys(target)) })
    const object = {
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: { name: 'l' },
      spec: { limits: [{ type: 'Pod', max }] },
    }
    expect(await definition.strategy.validate?.(object as unknown as KubeObject, contextOf([]))).toEqual([])
    return count
  }
  const ofOne = await reads(1)
  expect(ofOne).toBeGreaterThan(0)
  expect(await reads(1000)).toBe(ofOne)
})

test('the name of a new CronJob leaves room for the suffix of its jobs', async () => {
  const definition = definitionOf('batch', 'CronJob')
  const name = 'x'.repeat(53)
  const draft = made(definition, {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name },
    spec: { schedule: '@daily', jobTemplate },
  })
  const errors = (await definition.strategy.validate?.(asObject(draft), contextOf([]))) ?? []
  expect(errors).toEqual([fieldErrors.invalid('metadata.name', name, 'must be no more than 52 characters')])
})

test('a workload has warnings only when its template changes', () => {
  const definition = definitionOf('apps', 'Deployment')
  const env: JsonObject[] = [{ name: 'A' }, { name: 'A', value: '1' }, { name: 'A', value: '$(A)2' }]
  const spec: JsonObject = {
    containers: [{ name: 'c', image: 'i', env }],
    nodeSelector: { 'beta.kubernetes.io/os': 'linux' },
    terminationGracePeriodSeconds: -1,
  }
  const object = asObject(
    made(definition, workload('apps/v1', 'Deployment', { template: { metadata: { labels }, spec } })),
  )
  expect([definition.strategy.warnings?.(object, undefined), definition.strategy.warnings?.(object, object)]).toEqual([
    [
      'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
      'spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
      'spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
    ],
    [],
  ])
})

describe('the status of a new object', () => {
  const conditions = [{ type: 'Ready', status: 'True', reason: 'x', message: '', lastTransitionTime: null }]
  // The real strategies: PrepareForCreate in pkg/registry of Kubernetes.
  test.each<[string, string, string, JsonObject, JsonObject]>([
    ['', 'v1', 'Node', { capacity: { cpu: '4' } }, { capacity: { cpu: '4' }, allocatable: { cpu: '4' } }],
    ['', 'v1', 'Node', { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] }, { addresses: expect.anything() }],
    ['networking.k8s.io', 'networking.k8s.io/v1', 'ServiceCIDR', { conditions }, { conditions: expect.anything() }],
  ])('%s %s %s keeps %j', (group, apiVersion, kind, status, kept) => {
    const draft = made(definitionOf(group, kind), { apiVersion, kind, metadata: { name: 'n' }, status })
    expect(draft['status']).toMatchObject(kept)
  })

  test.each([
    ['', 'v1', 'Service', { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } }],
    ['', 'v1', 'Namespace', { phase: 'Terminating' }],
    ['apps', 'apps/v1', 'Deployment', { replicas: 3 }],
    ['batch', 'batch/v1', 'Job', { active: 3 }],
    ['networking.k8s.io', 'networking.k8s.io/v1', 'Ingress', { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } }],
    ['policy', 'policy/v1', 'PodDisruptionBudget', { currentHealthy: 3 }],
  ])('%s %s %s drops %j', (group, apiVersion, kind, status) => {
    const draft = made(definitionOf(group, kind), { apiVersion, kind, metadata: { name: 'n' }, spec: {}, status })
    expect(JSON.stringify(draft['status'] ?? {})).not.toMatch(/"3"|:3|10\.0\.0\.1|Terminating/)
  })
})
