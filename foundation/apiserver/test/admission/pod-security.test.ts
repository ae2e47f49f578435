// Admission by the PodSecurity labels of namespaces. Messages are those of kube-apiserver 1.35.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '@fairlead/kube'
import { failureOf, TestApi } from '../support/api.ts'
import type { Answer } from '../support/api.ts'

const namespaces = '/api/v1/namespaces'
const pods = `${namespaces}/team/pods`

let api: TestApi

beforeEach(async () => {
  api = await TestApi.start()
})
afterEach(() => api[Symbol.asyncDispose]())

/** Creates or labels the namespace `team`; the labels are named without their prefix. */
async function label(labels: Readonly<Record<string, string>>): Promise<Answer> {
  const entries = Object.entries(labels).map(([name, value]) => [`pod-security.kubernetes.io/${name}`, value])
  const metadata = { name: 'team', labels: Object.fromEntries(entries) as JsonObject }
  const exists = (await api.get(`${namespaces}/team`)).status === 200
  return exists ? api.merge(`${namespaces}/team`, { metadata }) : api.post(namespaces, { metadata })
}

function pod(spec: JsonObject = {}, container: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'p', ...metadata },
    spec: { containers: [{ name: 'c', image: 'i', ...container }], ...spec },
  }
}

const context = (securityContext: JsonObject): JsonObject => ({ securityContext })

/** A container that `restricted` allows. */
const restricted: JsonObject = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
}

function refused(answer: Answer): unknown {
  const { status, message } = failureOf(answer)
  return [status, message]
}

function warningsOf({ headers }: Answer): readonly string[] {
  return [headers['warning'] ?? []].flat().map((value) =>
    String(value)
      .replace(/^299 - "(.*)"$/, '$1')
      .replaceAll('\\"', '"'),
  )
}

const everything =
  'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ' +
  'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), ' +
  'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ' +
  'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'

test('refuses a plain pod in a restricted namespace and admits one that sets everything', async () => {
  await label({ enforce: 'restricted' })
  expect(refused(await api.post(pods, pod()))).toEqual([
    403,
    `pods "p" is forbidden: violates PodSecurity "restricted:latest": ${everything}`,
  ])
  expect((await api.post(pods, pod({}, context(restricted)))).status).toBe(201)
})

test.each(['post', 'apply'] as const)('reads fields that are null as absent (%s)', async (verb) => {
  await label({ enforce: 'restricted' })
  const limits = { type: 'Container', default: { cpu: '1' } }
  await api.post(`${namespaces}/team/limitranges`, {
    metadata: { name: 'l' },
    spec: { limits: [limits, { type: 'Pod', max: { cpu: '2' } }] },
  })
  const nothing = {
    initContainers: null,
    volumes: null,
    securityContext: null,
    overhead: null,
    resources: null,
    os: null,
  }
  const body = {
    apiVersion: 'v1',
    kind: 'Pod',
    ...pod(
      nothing,
      { ...context(restricted), resources: null, ports: null, livenessProbe: null },
      { annotations: null },
    ),
  }
  const answer = verb === 'post' ? await api.post(pods, body) : await api.apply(`${pods}/p?fieldManager=m`, body)
  expect(answer.status, answer.text).toBe(201)
})

test('admits everything in a namespace without labels or with the level privileged', async () => {
  await label({})
  expect((await api.post(pods, pod({ hostNetwork: true }))).status).toBe(201)
  await label({ enforce: 'privileged' })
  const second = await api.post(pods, pod({ hostPID: true }, {}, { name: 'second' }))
  expect([second.status, warningsOf(second)]).toEqual([201, []])
})

describe('baseline refuses', () => {
  test.each<[string, JsonObject, string]>([
    ['host namespaces', pod({ hostNetwork: true, hostPID: true }), 'host namespaces (hostNetwork=true, hostPID=true)'],
    ['hostPath volumes', pod({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }), 'hostPath volumes (volume "v")'],
    [
      'host ports',
      pod({}, { ports: [{ containerPort: 80, hostPort: 80 }] }),
      'hostPort (container "c" uses hostPort 80)',
    ],
    [
      'privileged containers',
      pod({}, context({ privileged: true })),
      'privileged (container "c" must not set securityContext.privileged=true)',
    ],
    [
      'capabilities',
      pod({}, context({ capabilities: { add: ['NET_ADMIN', 'CHOWN'] } })),
      'non-default capabilities (container "c" must not include "NET_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      'seccomp profiles',
      pod(context({ seccompProfile: { type: 'Unconfined' } }), context({ seccompProfile: { type: 'Unconfined' } })),
      'seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'AppArmor profiles',
      pod({}, context({ appArmorProfile: { type: 'Unconfined' } })),
      'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
    ],
    [
      'SELinux types',
      pod(context({ seLinuxOptions: { type: 'spc_t', user: 'u' } })),
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
    ],
    [
      'sysctls',
      pod(
        context({
          sysctls: [
            { name: 'kernel.msgmax', value: '1' },
            { name: 'net.ipv4.tcp_rmem', value: '1' },
          ],
        }),
      ),
      'forbidden sysctls (kernel.msgmax)',
    ],
    [
      'hosts of probes',
      pod({}, { livenessProbe: { httpGet: { port: 80, host: 'h' } } }),
      'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
    ],
  ])('%s', async (_title, body, message) => {
    await label({ enforce: 'baseline' })
    expect(refused(await api.post(pods, body))).toEqual([
      403,
      `pods "p" is forbidden: violates PodSecurity "baseline:latest": ${message}`,
    ])
    expect((await api.post(pods, pod())).status).toBe(201)
  })
})

describe('restricted refuses', () => {
  test.each<[string, JsonObject, string]>([
    [
      'volumes of the host, once',
      pod({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }, context(restricted)),
      'restricted volume types (volume "v" uses restricted volume type "hostPath")',
    ],
    [
      'the user root',
      pod({}, context({ ...restricted, runAsUser: 0 })),
      'runAsUser=0 (container "c" must not set runAsUser=0)',
    ],
    [
      'runAsNonRoot=false',
      pod({}, context({ ...restricted, runAsNonRoot: false })),
      'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
    ],
    [
      'added capabilities, once',
      pod({}, context({ ...restricted, capabilities: { drop: ['ALL'], add: ['SYS_TIME'] } })),
      'unrestricted capabilities (container "c" must not include "SYS_TIME" in securityContext.capabilities.add)',
    ],
  ])('%s', async (_title, body, message) => {
    await label({ enforce: 'restricted' })
    expect(refused(await api.post(pods, body))).toEqual([
      403,
      `pods "p" is forbidden: violates PodSecurity "restricted:latest": ${message}`,
    ])
  })
})

test('checks the version of the policy', async () => {
  await label({ enforce: 'baseline', 'enforce-version': 'v1.33' })
  expect((await api.post(pods, pod({}, { livenessProbe: { httpGet: { port: 80, host: 'h' } } }))).status).toBe(201)
  await label({ enforce: 'restricted', 'enforce-version': 'v1.21' })
  expect(refused(await api.post(pods, pod({}, context({ privileged: true }), { name: 'q' })))).toEqual([
    403,
    'pods "q" is forbidden: violates PodSecurity "restricted:v1.21": ' +
      'privileged (container "c" must not set securityContext.privileged=true), ' +
      'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ' +
      'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ' +
      'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  ])
})

test('warns of pods and of templates of workloads, and creates them', async () => {
  await label({ warn: 'restricted' })
  const created = await api.post(pods, pod())
  const template = { metadata: { labels: { a: 'b' } }, spec: pod()['spec']! }
  const deployment = await api.post('/apis/apps/v1/namespaces/team/deployments', {
    metadata: { name: 'd' },
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  })
  expect([created.status, deployment.status]).toEqual([201, 201])
  expect([warningsOf(created), warningsOf(deployment)]).toEqual(
    Array.from({ length: 2 }, () => [`would violate PodSecurity "restricted:latest": ${everything}`]),
  )
})

test('checks updates of images, and lets other updates of a violating pod pass', async () => {
  await label({})
  await api.post(pods, pod({ hostNetwork: true }))
  await label({ enforce: 'baseline' })
  expect((await api.merge(`${pods}/p`, { metadata: { labels: { a: 'b' } } })).status).toBe(200)
  const image = [{ op: 'replace', path: '/spec/containers/0/image', value: 'other' }]
  const answer = await api.send('PATCH', `${pods}/p`, image, { contentType: 'application/json-patch+json' })
  expect(refused(answer)).toEqual([
    403,
    'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
  ])
})

test('warns of the existing pods that violate a stricter level', async () => {
  await label({})
  for (const name of ['b', 'a']) await api.post(pods, pod({ hostNetwork: true }, {}, { name }))
  await api.post(pods, pod({}, context({ privileged: true }), { name: 'c' }))
  expect(warningsOf(await label({ enforce: 'baseline' }))).toEqual([
    'existing pods in namespace "team" violate the new PodSecurity enforce level "baseline:latest"',
    'a (and 1 other pod): host namespaces',
    'c: privileged',
  ])
})

test('refuses invalid labels of a namespace', async () => {
  const found = await label({ enforce: 'strict' })
  expect(refused(found)).toEqual([
    422,
    'Namespace "team" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
  ])
})
