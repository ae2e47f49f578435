// Rows of `kubectl get` for built-in kinds.
import type { JsonObject } from '@fairlead/kube'
import { asObject } from '@fairlead/kube'
import { builtinResources } from '@fairlead/builtin-kinds'
import { describe, expect, test } from 'vitest'

const now = Date.UTC(2001, 0, 2)
const created = '2001-01-01T00:00:00Z'

/** Returns the cells by column name. */
function row(kind: string, object: JsonObject, group = ''): JsonObject {
  const printer = builtinResources().find((definition) => definition.kind === kind && definition.group === group)
    ?.versions[0]?.printer
  const metadata = { name: 'x', creationTimestamp: created, ...(object['metadata'] as JsonObject | undefined) }
  const cells =
    printer?.cells(asObject({ apiVersion: group === '' ? 'v1' : `${group}/v1`, kind, ...object, metadata }), now) ?? []
  return Object.fromEntries((printer?.columns ?? []).map(({ name }, index) => [name, cells[index] ?? null]))
}

test.each(
  builtinResources().flatMap(({ group, kind, versions }) =>
    versions.map((version) => [`${group}/${version.name} ${kind}`, version.printer] as const),
  ),
)('%s has a cell for every column, even of an empty object', (kind, printer) => {
  // The real server sends an age for which IPAddresses have no column.
  const additional = kind.endsWith(' IPAddress') ? 1 : 0
  expect(printer.cells(asObject({ apiVersion: 'v1', kind: 'K', metadata: { name: 'x' } }), now)).toHaveLength(
    printer.columns.length + additional,
  )
})

const waiting = (reason: string): JsonObject => ({
  name: 'c',
  ready: false,
  restartCount: 0,
  state: { waiting: { reason } },
})
const terminated = (fields: JsonObject): JsonObject => ({
  name: 'c',
  ready: false,
  restartCount: 0,
  state: { terminated: fields },
})
const running = { name: 'c', ready: true, restartCount: 0, state: { running: {} } }

describe('STATUS of a pod', () => {
  test.each<[shown: string, ready: string, pod: JsonObject]>([
    ['Pending', '0/1', { status: { phase: 'Pending' } }],
    ['Running', '1/1', { status: { phase: 'Running', containerStatuses: [running] } }],
    ['CrashLoopBackOff', '0/1', { status: { phase: 'Running', containerStatuses: [waiting('CrashLoopBackOff')] } }],
    ['ExitCode:2', '0/1', { status: { phase: 'Failed', containerStatuses: [terminated({ exitCode: 2 })] } }],
    ['Signal:9', '0/1', { status: { phase: 'Failed', containerStatuses: [terminated({ exitCode: 0, signal: 9 })] } }],
    ['Evicted', '0/1', { status: { phase: 'Failed', reason: 'Evicted' } }],
    [
      'Init:0/1',
      '0/1',
      {
        spec: { initContainers: [{ name: 'i' }] },
        status: {
          phase: 'Pending',
          initContainerStatuses: [{ name: 'i', state: { waiting: { reason: 'PodInitializing' } } }],
        },
      },
    ],
    [
      'Init:ExitCode:1',
      '0/1',
      {
        spec: { initContainers: [{ name: 'i' }] },
        status: { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: { terminated: { exitCode: 1 } } }] },
      },
    ],
    [
      'Running',
      '2/2',
      {
        spec: { initContainers: [{ name: 's', restartPolicy: 'Always' }] },
        status: {
          phase: 'Running',
          initContainerStatuses: [{ name: 's', ready: true, started: true, state: { running: {} } }],
          containerStatuses: [running],
        },
      },
    ],
    [
      'Terminating',
      '1/1',
      { metadata: { deletionTimestamp: created }, status: { phase: 'Running', containerStatuses: [running] } },
    ],
    [
      'SchedulingGated',
      '0/1',
      {
        status: {
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
        },
      },
    ],
  ])('%s, %s ready: %j', (shown, ready, pod) => {
    const spec = { containers: [{ name: 'c' }], ...(pod['spec'] as JsonObject | undefined) }
    const cells = row('Pod', { ...pod, spec })
    expect([cells['Status'], cells['Ready']]).toEqual([shown, ready])
  })

  test('RESTARTS has the age of the last restart', () => {
    const status = {
      ...running,
      restartCount: 3,
      lastState: { terminated: { exitCode: 1, finishedAt: '2001-01-01T23:00:00Z' } },
    }
    expect(
      row('Pod', { spec: { containers: [{ name: 'c' }] }, status: { phase: 'Running', containerStatuses: [status] } })[
        'Restarts'
      ],
    ).toBe('3 (60m ago)')
  })
})

describe('cells of', () => {
  test.each<[kind: string, group: string, object: JsonObject, cells: JsonObject]>([
    [
      'Service',
      '',
      {
        spec: {
          type: 'LoadBalancer',
          clusterIP: '10.0.0.5',
          ports: [{ port: 80, nodePort: 30_080, protocol: 'TCP' }],
          selector: { b: '2', a: '1' },
        },
      },
      {
        Name: 'x',
        Type: 'LoadBalancer',
        'Cluster-IP': '10.0.0.5',
        'External-IP': '<pending>',
        'Port(s)': '80:30080/TCP',
        Age: '24h',
        Selector: 'a=1,b=2',
      },
    ],
    [
      'Node',
      '',
      {
        metadata: { labels: { 'node-role.kubernetes.io/worker': '', 'node-role.kubernetes.io/control-plane': '' } },
        spec: { unschedulable: true },
        status: { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { kubeletVersion: 'v1' } },
      },
      {
        Name: 'x',
        Status: 'Ready,SchedulingDisabled',
        Roles: 'control-plane,worker',
        Age: '24h',
        Version: 'v1',
        'Internal-IP': '<none>',
        'External-IP': '<none>',
        'OS-Image': '<unknown>',
        'Kernel-Version': '<unknown>',
        'Container-Runtime': '<unknown>',
      },
    ],
    [
      'Job',
      'batch',
      {
        spec: { completions: 3, template: { spec: { containers: [{ name: 'a', image: 'b' }] } } },
        status: { succeeded: 1, startTime: '2001-01-01T23:59:00Z' },
      },
      {
        Name: 'x',
        Status: 'Running',
        Completions: '1/3',
        Duration: '60s',
        Age: '24h',
        Containers: 'a',
        Images: 'b',
        Selector: '<none>',
      },
    ],
    [
      'PersistentVolumeClaim',
      '',
      {
        spec: { volumeName: 'v', storageClassName: 's', volumeMode: 'Block' },
        status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteMany', 'ReadWriteOnce'] },
      },
      {
        Name: 'x',
        Status: 'Bound',
        Volume: 'v',
        Capacity: '1Gi',
        'Access Modes': 'RWO,RWX',
        StorageClass: 's',
        VolumeAttributesClass: '<unset>',
        Age: '24h',
        VolumeMode: 'Block',
      },
    ],
    [
      'Event',
      '',
      {
        involvedObject: { kind: 'Pod', name: 'p' },
        reason: 'R',
        message: 'm ',
        type: 'Normal',
        source: { component: 'c', host: 'h' },
        lastTimestamp: '2001-01-01T23:59:30Z',
        firstTimestamp: created,
        count: 4,
      },
      {
        'Last Seen': '30s',
        Type: 'Normal',
        Reason: 'R',
        Object: 'pod/p',
        Subobject: '',
        Source: 'c, h',
        Message: 'm',
        'First Seen': '24h',
        Count: 4,
        Name: 'x',
      },
    ],
    [
      'Endpoints',
      '',
      {
        subsets: [{ addresses: ['1', '2', '3', '4'].map((last) => ({ ip: `10.0.0.${last}` })), ports: [{ port: 80 }] }],
      },
      { Name: 'x', Endpoints: '10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 1 more...', Age: '24h' },
    ],
    [
      'HorizontalPodAutoscaler',
      'autoscaling',
      {
        spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 3, targetCPUUtilizationPercentage: 80 },
        status: { currentReplicas: 2 },
      },
      {
        Name: 'x',
        Reference: 'Deployment/d',
        Targets: 'cpu: <unknown>/80%',
        MinPods: '<unset>',
        MaxPods: 3,
        Replicas: 2,
        Age: '24h',
      },
    ],
    [
      'RoleBinding',
      'rbac.authorization.k8s.io',
      {
        roleRef: { kind: 'Role', name: 'r' },
        subjects: [
          { kind: 'User', name: 'u' },
          { kind: 'ServiceAccount', namespace: 'n', name: 's' },
        ],
      },
      { Name: 'x', Role: 'Role/r', Age: '24h', Users: 'u', Groups: '', ServiceAccounts: 'n/s' },
    ],
    ['ClusterRole', 'rbac.authorization.k8s.io', {}, { Name: 'x', 'Created At': created }],
    ['LimitRange', '', {}, { Name: 'x', 'Created At': created }],
  ])('%s', (kind, group, object, cells) => {
    expect(row(kind, object, group)).toEqual(cells)
  })
})
