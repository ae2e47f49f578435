// Workloads in `kubectl get`.
import type { Condition, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { humanAge, isConditionTrue } from '@fairlead/kube'
import type { TablePrinter } from '../definition/resource-definition.ts'
import { flagAt, has, mapAt, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { convertAutoscaler } from '../policy/autoscaler-versions.ts'
import type { Cell } from './column.ts'
import {
  age,
  column,
  containerCells,
  labelsCell,
  nameColumn,
  none,
  objectAge,
  printer,
  selectorCell,
} from './column.ts'

const wide = ['Containers', 'Images', 'Selector']

/** Deployments. */
export const deploymentPrinter: TablePrinter = printer(
  ['Ready', 'Up-to-date', 'Available', 'Age'],
  wide,
  (object, now) => [
    `${statusCount(object, 'readyReplicas')}/${numberAt(object, 'spec', 'replicas') ?? 0}`,
    statusCount(object, 'updatedReplicas'),
    statusCount(object, 'availableReplicas'),
    objectAge(object, now),
    ...templateCells(object),
    selectorOf(object),
  ],
)

/** ReplicaSets. */
export const replicaSetPrinter: TablePrinter = printer(
  ['Desired:integer', 'Current:integer', 'Ready:integer', 'Age'],
  wide,
  (object, now) => [...replicaCells(object), objectAge(object, now), ...templateCells(object), selectorOf(object)],
)

/** ReplicationControllers: their selector is a plain map. */
export const replicationControllerPrinter: TablePrinter = printer(
  ['Desired:integer', 'Current:integer', 'Ready:integer', 'Age'],
  wide,
  (object, now) => [
    ...replicaCells(object),
    objectAge(object, now),
    ...templateCells(object),
    labelsCell(mapAt(object, 'spec', 'selector')),
  ],
)

/** DaemonSets. */
export const daemonSetPrinter: TablePrinter = printer(
  [
    'Desired:integer',
    'Current:integer',
    'Ready:integer',
    'Up-to-date:integer',
    'Available:integer',
    'Node Selector',
    'Age',
  ],
  wide,
  (object, now) => [
    ...[
      'desiredNumberScheduled',
      'currentNumberScheduled',
      'numberReady',
      'updatedNumberScheduled',
      'numberAvailable',
    ].map((field) => statusCount(object, field)),
    labelsCell(mapAt(object, 'spec', 'template', 'spec', 'nodeSelector')),
    objectAge(object, now),
    ...templateCells(object),
    selectorOf(object),
  ],
)

/** StatefulSets. */
export const statefulSetPrinter: TablePrinter = printer(['Ready', 'Age'], ['Containers', 'Images'], (object, now) => [
  `${statusCount(object, 'readyReplicas')}/${numberAt(object, 'spec', 'replicas') ?? 0}`,
  objectAge(object, now),
  ...templateCells(object),
])

/** Jobs. */
export const jobPrinter: TablePrinter = printer(['Status', 'Completions', 'Duration', 'Age'], wide, (object, now) => [
  jobStatus(object),
  completions(object),
  duration(object, now),
  objectAge(object, now),
  ...templateCells(object),
  selectorOf(object),
])

/** CronJobs. */
export const cronJobPrinter: TablePrinter = printer(
  ['Schedule', 'Timezone', 'Suspend:boolean', 'Active:integer', 'Last Schedule', 'Age'],
  wide,
  (object, now) => {
    const job = objectAt(object, 'spec', 'jobTemplate', 'spec')
    return [
      stringAt(object, 'spec', 'schedule'),
      stringAt(object, 'spec', 'timeZone') || none,
      flagAt(object, 'spec', 'suspend') ? 'True' : 'False',
      objectsAt(object, 'status', 'active').length,
      stringAt(object, 'status', 'lastScheduleTime') === ''
        ? none
        : age(stringAt(object, 'status', 'lastScheduleTime'), now),
      objectAge(object, now),
      ...containerCells(objectAt(job, 'template')),
      selectorCell(has(job, 'selector') ? objectAt(job, 'selector') : undefined),
    ]
  },
)

/** ControllerRevisions. */
export const controllerRevisionPrinter: TablePrinter = printer(['Controller', 'Revision', 'Age'], [], (object, now) => {
  const owner = object.metadata.ownerReferences?.find((reference) => reference.controller === true)
  return [owner === undefined ? none : ownerName(owner), numberAt(object, 'revision') ?? 0, objectAge(object, now)]
})

function ownerName({ apiVersion, kind, name }: { apiVersion: string; kind: string; name: string }): string {
  const group = apiVersion.includes('/') ? `.${apiVersion.slice(0, apiVersion.indexOf('/'))}` : ''
  return `${kind.toLowerCase()}${group}/${name}`
}

/** Autoscalers, in either version. */
export const autoscalerPrinter: TablePrinter = printer(
  ['Reference', 'Targets', 'MinPods', 'MaxPods', 'Replicas', 'Age'],
  [],
  (object, now) => {
    const target = objectAt(object, 'spec', 'scaleTargetRef')
    return [
      `${stringAt(target, 'kind')}/${stringAt(target, 'name')}`,
      metricTargets(object),
      String(numberAt(object, 'spec', 'minReplicas') ?? '<unset>'),
      numberAt(object, 'spec', 'maxReplicas') ?? 0,
      statusCount(object, 'currentReplicas'),
      objectAge(object, now),
    ]
  },
)

/** PodDisruptionBudgets. */
export const disruptionBudgetPrinter: TablePrinter = printer(
  ['Min Available', 'Max Unavailable', 'Allowed Disruptions:integer', 'Age'],
  [],
  (object, now) => [
    amount(objectAt(object, 'spec'), 'minAvailable'),
    amount(objectAt(object, 'spec'), 'maxUnavailable'),
    statusCount(object, 'disruptionsAllowed'),
    objectAge(object, now),
  ],
)

function amount(spec: JsonObject, field: string): string {
  const value = spec[field]
  return typeof value === 'string' ? value : has(spec, field) ? String(numberAt(spec, field)) : 'N/A'
}

function statusCount(object: KubeObject, field: string): number {
  return numberAt(object, 'status', field) ?? 0
}

function replicaCells(object: KubeObject): number[] {
  return [
    numberAt(object, 'spec', 'replicas') ?? 0,
    statusCount(object, 'replicas'),
    statusCount(object, 'readyReplicas'),
  ]
}

function templateCells(object: KubeObject): [string, string] {
  return containerCells(objectAt(object, 'spec', 'template'))
}

function selectorOf(object: KubeObject): string {
  const spec = objectAt(object, 'spec')
  return selectorCell(has(spec, 'selector') ? objectAt(spec, 'selector') : undefined)
}

function jobStatus(object: KubeObject): string {
  const conditions = objectsAt(object, 'status', 'conditions') as unknown as readonly Condition[]
  for (const [type, word] of [
    ['Complete', 'Complete'],
    ['Failed', 'Failed'],
  ] as const) {
    if (isConditionTrue(conditions, type)) return word
  }
  if (object.metadata.deletionTimestamp !== undefined) return 'Terminating'
  if (isConditionTrue(conditions, 'Suspended')) return 'Suspended'
  if (isConditionTrue(conditions, 'FailureTarget')) return 'FailureTarget'
  if (isConditionTrue(conditions, 'SuccessCriteriaMet')) return 'SuccessCriteriaMet'
  return 'Running'
}

function completions(object: KubeObject): string {
  const done = statusCount(object, 'succeeded')
  const wanted = numberAt(object, 'spec', 'completions')
  if (wanted !== undefined) return `${done}/${wanted}`
  const parallelism = numberAt(object, 'spec', 'parallelism') ?? 0
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`
}

function duration(object: KubeObject, now: number): string {
  const start = Date.parse(stringAt(object, 'status', 'startTime'))
  if (Number.isNaN(start)) return ''
  const end = Date.parse(stringAt(object, 'status', 'completionTime'))
  return humanAge((Number.isNaN(end) ? now : end) - start)
}

/** Formats the metrics, `cpu: 50%/80%`: the first two and the number of others. */
function metricTargets(object: KubeObject): string {
  const { spec, status } = convertAutoscaler(object, 'autoscaling/v2') as KubeObject & Record<string, JsonValue>
  const metrics = objectsAt(spec, 'metrics')
  if (metrics.length === 0) return none
  const currents = objectsAt(status, 'currentMetrics')
  const entries = metrics.map((metric, index) => metricTarget(metric, currents[index]))
  return entries.length > 2 ? `${entries.slice(0, 2).join(', ')} + ${entries.length - 2} more...` : entries.join(', ')
}

/** The field of a metric's type. */
const metricSources: Readonly<Record<string, string>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
}

function metricTarget(metric: JsonObject, current: JsonObject | undefined): string {
  const source = metricSources[stringAt(metric, 'type')]
  if (source === undefined) return '<unknown type>'
  const target = objectAt(metric, source, 'target')
  const now = objectAt(current, source, 'current')
  const measured = (field: string): string =>
    has(now, field) ? stringAt(now, field) : current !== undefined && has(current, source) ? '<nil>' : '<unknown>'
  if (source === 'resource' || source === 'containerResource') {
    const name = stringAt(metric, source, 'name')
    if (has(target, 'averageValue')) return `${name}: ${measured('averageValue')}/${stringAt(target, 'averageValue')}`
    const percent = (owner: JsonObject, otherwise: string): string =>
      has(owner, 'averageUtilization') ? `${numberAt(owner, 'averageUtilization')}%` : otherwise
    return `${name}: ${percent(now, '<unknown>')}/${percent(target, '<auto>')}`
  }
  if (source === 'pods') return `${measured('averageValue')}/${stringAt(target, 'averageValue')}`
  return has(target, 'averageValue')
    ? `${stringAt(now, 'averageValue') || '<unknown>'}/${stringAt(target, 'averageValue')} (avg)`
    : `${measured('value')}/${stringAt(target, 'value')}`
}

function scaleCells(object: KubeObject, now: number): readonly Cell[] {
  return [
    object.metadata.name ?? '',
    numberAt(object, 'spec', 'replicas') ?? 0,
    statusCount(object, 'replicas'),
    objectAge(object, now),
  ]
}

/** Scales of built-in kinds. */
export const scalePrinter: TablePrinter = {
  columns: [column('Name'), column('Desired', 0, 'integer'), column('Available', 0, 'integer'), column('Age')],
  cells: scaleCells,
}

/** Scales of custom resources. */
export const customScalePrinter: TablePrinter = {
  columns: [nameColumn, column('Desired', 0, 'integer'), column('Available', 0, 'integer'), column('Age', 0, 'date')],
  cells: scaleCells,
}
