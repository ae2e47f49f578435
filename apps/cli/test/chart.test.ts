// The Helm chart and the Kustomize base: what they make is what `fairlead install` prints.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { describeData } from '../../../test/support/conformance-data.ts'
import { fairlead } from './support/command.ts'
import { idOf, problemsOf, readSchemas } from './support/kubernetes-schemas.ts'

const charts = join(import.meta.dirname, '../../../charts')
const chart = join(charts, 'fairlead')
const helm = process.env['HELM'] ?? 'helm'
const hasHelm = spawnSync(helm, ['version'], { stdio: 'ignore' }).status === 0
const hasKubectl = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' }).status === 0
if (!hasHelm) console.log('skipped: the Helm chart: helm is not here (HELM names one)')
if (!hasKubectl) console.log('skipped: the Kustomize base: kubectl is not here')

const only = (...enabled: string[]): string[] =>
  ['metacontroller', 'supply', 'packages', 'variants', 'actions', 'references', 'aws']
    .filter((name) => !enabled.includes(name))
    .flatMap((name) => ['--set', `capabilities.${name}.enabled=false`])

function run(command: string, args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  return { code: status, stdout, stderr }
}

function rendered(...values: string[]): KubeObject[] {
  const args = ['template', 'fairlead', chart, '--namespace', 'fairlead-system', '--kube-version', '1.35.0', ...values]
  const { code, stdout, stderr } = run(helm, args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return objectsIn(stdout)
}

async function printed(...args: string[]): Promise<KubeObject[]> {
  const { code, stdout } = await fairlead(['install', '--image', 'fairlead:0.1.0', ...args])
  expect(code).toBe(0)
  return objectsIn(stdout)
}

function objectsIn(text: string): KubeObject[] {
  return parseYamlDocuments(text).filter((object) => object !== null) as unknown as KubeObject[]
}

const installerLabels = new Set(['app.kubernetes.io/managed-by', 'helm.sh/chart'])

/** Returns objects by id, without what says who installs them, and without the Namespace, which Helm has a flag for. */
function comparable(objects: readonly KubeObject[]): Record<string, unknown> {
  const bare = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(bare)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !installerLabels.has(key) && key !== 'helm.sh/resource-policy')
        .map(([key, inner]) => [key, bare(inner)])
        .filter(([key, inner]) => key !== 'annotations' || Object.keys(inner as object).length > 0),
    )
  }
  return Object.fromEntries(
    objects
      .filter((object) => idOf(object) !== 'Namespace fairlead-system')
      .map((object) => [idOf(object), bare(object)]),
  )
}

/** Values of the chart beside the flags of the command that mean the same. */
const pairs: readonly {
  readonly title: string
  readonly values: readonly string[]
  readonly flags: readonly string[]
}[] = [
  { title: 'default values', values: [], flags: [] },
  {
    title: 'one capability, as little as possible',
    values: [
      ...only('metacontroller'),
      ...['webhooks.enabled', 'networkPolicy.enabled', 'defaults'].flatMap((key) => ['--set', `${key}=false`]),
    ],
    flags: ['--only', 'map', '--no-webhooks', '--no-network-policy', '--no-defaults'],
  },
  {
    title: 'shards over three pods, with settings',
    values: [
      ...only('metacontroller', 'actions'),
      ...['replicas=3', 'shards=8', 'capabilities.metacontroller.settings.workers=8'].flatMap((one) => ['--set', one]),
    ],
    flags: ['--only', 'map,actions', '--replicas', '3', '--shards', '8', '--set', 'metacontroller.workers=8'],
  },
  { title: 'a ServiceMonitor', values: ['--set', 'serviceMonitor.enabled=true'], flags: ['--service-monitor'] },
]

describe.skipIf(!hasHelm)('the Helm chart', () => {
  test('helm lint finds nothing', () => {
    const { code, stdout } = run(helm, ['lint', '--strict', '--kube-version', '1.35.0', chart])
    expect({ code, failed: stdout.includes('0 chart(s) failed') }).toEqual({ code: 0, failed: true })
  })

  test.each(pairs)('with $title it is what fairlead install prints', async ({ values, flags }) => {
    expect(comparable(rendered(...values))).toEqual(comparable(await printed(...flags)))
  })

  test.each([
    [['replicas=2'], /packages serves its API from one pod/],
    [['replcas=2'], /additional properties 'replcas' not allowed|Additional property replcas is not allowed/],
    [['capabilities.metacontroler.enabled=true'], /metacontroler.*not allowed/],
    [['shards=0'], /shards/],
  ])('values %j are refused', (values, message) => {
    const sets = values.flatMap((one) => ['--set', one])
    const { code, stderr } = run(helm, ['template', 'fairlead', chart, '--kube-version', '1.35.0', ...sets])
    expect(code).toBe(1)
    expect(stderr).toMatch(message)
  })

  test('definitions and default objects are kept when the release is uninstalled, and nothing else', () => {
    const kept = rendered().filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] === 'keep')
    expect(kept.filter(({ kind }) => kind === 'CustomResourceDefinition')).toHaveLength(28)
    expect(kept.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] !== undefined)).toEqual([])
  })
})

test.skipIf(!hasKubectl)('the Kustomize base is what fairlead install prints', async () => {
  const { code, stdout, stderr } = run('kubectl', ['kustomize', join(charts, 'kustomize')])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(comparable(objectsIn(stdout))).toEqual(comparable(await printed()))
})

describeData('schemas of Kubernetes, and the chart', { minimum: 1, read: () => [readSchemas()] }, ([schemas]) => {
  const full = {
    replicas: 3,
    shards: 8,
    image: { digest: `sha256:${'0'.repeat(64)}` },
    imagePullSecrets: [{ name: 'registry' }],
    serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::123456789012:role/fairlead' } },
    podAnnotations: { team: 'platform' },
    podLabels: { team: 'platform' },
    env: [{ name: 'FAIRLEAD_LOG_LEVEL', value: 'debug' }],
    envFrom: [{ secretRef: { name: 'aws-credentials' } }],
    extraArgs: ['--resolve=hooks=10.0.0.1:8443'],
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
    ],
    priorityClassName: 'system-cluster-critical',
    data: { existingClaim: 'clones' },
  }
  test.skipIf(!hasHelm).each([
    ['default', []],
    ['minimal', only('metacontroller')],
    [
      'full',
      [
        ...only('metacontroller', 'aws'),
        ...Object.entries(full).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`]),
      ],
    ],
  ])('manifests of %s values are valid and have no unknown field', (_, values) => {
    expect(problemsOf(rendered(...values), schemas!)).toEqual([])
  })
})
