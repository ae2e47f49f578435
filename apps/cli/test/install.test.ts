// `fairlead install` and `fairlead uninstall`: what they print, applied to a server and deleted from it.
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { parseYamlDocuments } from '@fairlead/kube'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import { beforeAll, describe, expect, test } from 'vitest'
import { describeData } from '../../../test/support/conformance-data.ts'
import { Kubectl, findKubectl } from '../../../test/support/kubectl.ts'
import { fairlead } from './support/command.ts'
import { idOf, problemsOf, readSchemas } from './support/kubernetes-schemas.ts'

async function printed(...args: string[]): Promise<KubeObject[]> {
  const { code, stdout, stderr } = await fairlead(args)
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  return parseYamlDocuments(stdout) as unknown as KubeObject[]
}

const ownIds = (objects: readonly KubeObject[]): string[] =>
  objects.filter(({ kind }) => kind !== 'CustomResourceDefinition').map(idOf)

let all: KubeObject[]
beforeAll(async () => {
  all = await printed('install', '--image', 'registry.example.com/fairlead:1')
})

test('install prints what one capability needs, in apply order', async () => {
  const objects = await printed('install', '--only', 'map', '-n', 'derived', '--name', 'maps', '--replicas', '2')
  expect(ownIds(objects)).toEqual([
    'Namespace derived',
    'ServiceAccount derived/maps',
    'Role derived/maps',
    'RoleBinding derived/maps',
    'ClusterRole maps-server',
    'ClusterRoleBinding maps-server',
    'ClusterRole maps-metrics-reader',
    'ClusterRole maps-webhooks',
    'ClusterRoleBinding maps-webhooks',
    'ClusterRole maps-metacontroller-own',
    'ClusterRole maps-metacontroller',
    'ClusterRoleBinding maps-metacontroller-own',
    'ClusterRoleBinding maps-metacontroller',
    'Service derived/maps',
    'NetworkPolicy derived/maps',
    'PodDisruptionBudget derived/maps',
    'Deployment derived/maps',
    'ValidatingWebhookConfiguration maps',
  ])
  const pod = objects.find(({ kind }) => kind === 'Deployment')?.spec as {
    template: { spec: { containers: readonly { args: readonly string[] }[] } }
  }
  expect(pod.template.spec.containers[0]!.args).toEqual([
    'run',
    '--only=metacontroller',
    '--service=maps',
    '--port=9443',
    '--webhooks=true',
    '--leader-elect=true',
  ])
})

test('uninstall deletes what makes the API server call pods first, and what others may use last', async () => {
  const kinds = (objects: readonly KubeObject[]): string[] => [...new Set(objects.map(({ kind }) => kind))]
  const processes = [
    'Deployment',
    'PodDisruptionBudget',
    'NetworkPolicy',
    'ClusterRoleBinding',
    'RoleBinding',
    'APIService',
    'Service',
    'ClusterRole',
    'Role',
    'ServiceAccount',
    'Secret',
  ]
  const plain = await printed('uninstall', '-n', 'derived')
  const complete = await printed('uninstall', '--crds', '--service-monitor')
  expect(kinds(plain)).toEqual(['ValidatingWebhookConfiguration', ...processes])
  expect(kinds(complete)).toEqual([
    'ValidatingWebhookConfiguration',
    'CustomResourceDefinition',
    'ServiceMonitor',
    ...processes,
    'Namespace',
  ])
})

test('uninstall deletes aggregated roles first, which their controller would make again', async () => {
  const roles = (await printed('install')).filter(({ kind }) => kind === 'ClusterRole')
  const aggregated = roles.flatMap((role) => ('aggregationRule' in role ? [role.metadata.name!] : []))
  const deleted = (await printed('uninstall')).flatMap(({ kind, metadata }) =>
    kind === 'ClusterRole' ? [metadata.name!] : [],
  )
  expect(aggregated.length).toBeGreaterThan(0)
  expect(deleted.slice(0, aggregated.length)).toEqual(aggregated)
})

test.each([
  [['--only', 'nothing'], /--only nothing: there is no capability nothing; there are metacontroller, /],
  [['--replicas', 'many'], /--replicas many: write a number from 1 to 1000/],
  [['--only', 'map', '--shards', '0'], /--shards 0: write a number/],
  [['--replicas', '2'], /--replicas 2: packages serves its own API from one pod.*--only packages --name/],
  [['--namespace', 'Upper'], /--namespace Upper: write at most 63 lower-case letters/],
  [['--image', 'two words'], /--image "two words": write NAME:TAG/],
  [
    ['--set', 'map.colour=red'],
    /--set metacontroller.colour: there is no such setting; the settings of metacontroller/,
  ],
  [['--only', 'map', '--set', 'aws.x=1'], /--set aws.x: aws does not run/],
])('install %j is refused with what to write instead', async (args, message) => {
  const { code, stdout, stderr } = await fairlead(['install', ...args])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})

describe('applied to a server', () => {
  const kubectl = findKubectl('1.33') ?? findKubectl('1.34')

  test('a second apply changes nothing, and uninstall leaves definitions and default objects', async () => {
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    const client = server.client()
    const versions = async (): Promise<(string | undefined)[]> => {
      const applied = []
      for (const object of all) applied.push(await client.apply(object, { manager: 'test', force: true }))
      return applied.map((object) => `${idOf(object)} ${object.metadata.resourceVersion}`)
    }
    expect(await stable(versions)).toBe(true)
    for (const { apiVersion, kind, metadata } of await printed('uninstall'))
      await client.delete({ apiVersion, kind }, metadata as ObjectKey).catch(ignoreMissing)
    const left = await existing(client, all)
    expect([...new Set(left.map(({ kind }) => kind))].toSorted()).toEqual([
      'ClusterRole',
      'ClusterRoleBinding',
      'ConfigMap',
      'CustomResourceDefinition',
      'Namespace',
      'Role',
      'RoleBinding',
      'ServiceAccount',
    ])
    expect(left.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] === 'fairlead')).toEqual([])
  })

  test.skipIf(kubectl === undefined)('kubectl applies and deletes what is piped to it', async () => {
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    const { kubeconfig } = await server.listen()
    using pipe = new Kubectl(kubectl!, kubeconfig)
    const args = ['--only', 'map,packages', '--image', 'registry.example.com/fairlead:1']
    const { stdout: manifests } = await fairlead(['install', ...args])
    const first = await pipe.run(['apply', '-f', '-'], manifests)
    expect({ code: first.exitCode, stderr: first.stderr }).toEqual({ code: 0, stderr: '' })
    const second = await pipe.run(['apply', '-f', '-'], manifests)
    expect(second.stdout.split('\n').filter((line) => line !== '' && !line.endsWith(' unchanged'))).toEqual([])
    const { stdout: doomed } = await fairlead(['uninstall', '--only', 'map,packages'])
    const gone = await pipe.run(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], doomed)
    expect({
      code: gone.exitCode,
      stderr: gone.stderr.replaceAll(/^Warning: deleting cluster-scoped.*\n/gm, ''),
    }).toEqual({ code: 0, stderr: '' })
  })
})

/** Reports whether two applies in a row give the same versions, once controllers have filled in what they add. */
async function stable(apply: () => Promise<unknown>): Promise<boolean> {
  await apply()
  await expect.poll(async () => JSON.stringify(await apply()) === JSON.stringify(await apply())).toBe(true)
  return true
}

async function existing(client: Client, objects: readonly KubeObject[]): Promise<KubeObject[]> {
  const found = await Promise.all(
    objects.map(({ apiVersion, kind, metadata }) => client.find({ apiVersion, kind }, metadata as ObjectKey)),
  )
  return found.filter(
    (object) => object !== undefined && object.metadata.deletionTimestamp === undefined,
  ) as KubeObject[]
}

function ignoreMissing(error: unknown): void {
  if ((error as { code?: unknown }).code !== 404) throw error
}

describeData(
  'schemas of Kubernetes, and what install prints',
  { minimum: 1, read: () => [readSchemas()] },
  ([schemas]) => {
    test('every manifest is valid and has no unknown field', () => expect(problemsOf(all, schemas!)).toEqual([]))
  },
)
