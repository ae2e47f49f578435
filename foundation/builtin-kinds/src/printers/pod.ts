// Pods in `kubectl get`: the STATUS column from phase, reasons and container states (printPod of kubectl's server-side
// printers).
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { TablePrinter } from '../definition/resource-definition.ts'
import { flagAt, has, mapAt, numberAt, objectAt, objectsAt, stringAt } from '../fields.ts'
import { age, containerCells, labelsCell, none, objectAge, orNone, printer } from './column.ts'

/** Pods. */
const plainPrinter: TablePrinter = printer(
  ['Ready', 'Status', 'Restarts', 'Age'],
  ['IP', 'Node', 'Nominated Node', 'Readiness Gates'],
  (pod, now) => {
    const summary = summarize(pod)
    const restarts =
      summary.restarts !== 0 && summary.lastRestart !== ''
        ? `${summary.restarts} (${age(summary.lastRestart, now)} ago)`
        : String(summary.restarts)
    return [
      `${summary.ready}/${summary.total}`,
      summary.reason,
      restarts,
      objectAge(pod, now),
      orNone(stringAt(objectsAt(pod, 'status', 'podIPs')[0], 'ip')),
      orNone(stringAt(pod, 'spec', 'nodeName')),
      orNone(stringAt(pod, 'status', 'nominatedNodeName')),
      readinessGates(pod),
    ]
  },
)

/** Pods; completed ones have a condition in their row. */
export const podPrinter: TablePrinter = {
  ...plainPrinter,
  conditions(object) {
    const phase = stringAt(object, 'status', 'phase')
    if (phase !== 'Succeeded' && phase !== 'Failed') return []
    const message = phase === 'Failed' ? 'The pod failed.' : 'The pod has completed successfully.'
    return [{ type: 'Completed', status: 'True', reason: phase, message }]
  },
}

/** PodTemplates. */
export const podTemplatePrinter: TablePrinter = printer(['Containers', 'Images', 'Pod Labels'], [], (object) => {
  const template = objectAt(object, 'template')
  return [...containerCells(template), labelsCell(mapAt(template, 'metadata', 'labels'))]
})

interface Summary {
  reason: string
  restarts: number
  lastRestart: string
  ready: number
  total: number
}

function summarize(pod: KubeObject): Summary {
  const status = objectAt(pod, 'status')
  const init = summarizeInit(pod)
  const summary: Summary = { ...init, total: objectsAt(pod, 'spec', 'containers').length + init.total }
  if (!init.isInitializing || hasCondition(status, 'Initialized')) summarizeContainers(summary, status, init)
  const isLeaving = pod.metadata.deletionTimestamp !== undefined
  if (isLeaving && stringAt(status, 'reason') === 'NodeLost') summary.reason = 'Unknown'
  else if (isLeaving && !['Failed', 'Succeeded'].includes(stringAt(status, 'phase'))) summary.reason = 'Terminating'
  return summary
}

interface InitSummary extends Summary {
  isInitializing: boolean
  sidecarRestarts: number
  sidecarLastRestart: string
}

function summarizeInit(pod: KubeObject): InitSummary {
  const status = objectAt(pod, 'status')
  const containers = objectsAt(pod, 'spec', 'initContainers')
  const sidecars = new Set(
    containers
      .filter((container) => stringAt(container, 'restartPolicy') === 'Always')
      .map((container) => stringAt(container, 'name')),
  )
  const isGated = objectsAt(status, 'conditions').some(
    (condition) =>
      stringAt(condition, 'type') === 'PodScheduled' && stringAt(condition, 'reason') === 'SchedulingGated',
  )
  const reason = isGated ? 'SchedulingGated' : stringAt(status, 'reason') || stringAt(status, 'phase')
  const summary = {
    reason,
    restarts: 0,
    lastRestart: '',
    ready: 0,
    total: sidecars.size,
    isInitializing: false,
    sidecarRestarts: 0,
    sidecarLastRestart: '',
  }
  for (const [index, container] of objectsAt(status, 'initContainerStatuses').entries()) {
    const isSidecar = sidecars.has(stringAt(container, 'name'))
    const finished = stringAt(container, 'lastState', 'terminated', 'finishedAt')
    summary.restarts += numberAt(container, 'restartCount') ?? 0
    summary.lastRestart = later(summary.lastRestart, finished)
    if (isSidecar) {
      summary.sidecarRestarts += numberAt(container, 'restartCount') ?? 0
      summary.sidecarLastRestart = later(summary.sidecarLastRestart, finished)
    }
    const state = objectAt(container, 'state')
    if (has(state, 'terminated') && (numberAt(state, 'terminated', 'exitCode') ?? 0) === 0) continue
    if (isSidecar && flagAt(container, 'started')) {
      if (flagAt(container, 'ready')) summary.ready += 1
      continue
    }
    summary.isInitializing = true
    summary.reason = initReason(state, `${index}/${containers.length}`)
    break
  }
  return summary
}

function initReason(state: JsonObject, progress: string): string {
  if (has(state, 'terminated')) return `Init:${terminatedReason(objectAt(state, 'terminated'))}`
  const waiting = stringAt(state, 'waiting', 'reason')
  return waiting !== '' && waiting !== 'PodInitializing' ? `Init:${waiting}` : `Init:${progress}`
}

function terminatedReason(terminated: JsonObject): string {
  const reason = stringAt(terminated, 'reason')
  if (reason !== '') return reason
  const signal = numberAt(terminated, 'signal') ?? 0
  return signal === 0 ? `ExitCode:${numberAt(terminated, 'exitCode') ?? 0}` : `Signal:${signal}`
}

function summarizeContainers(summary: Summary, status: JsonObject, init: InitSummary): void {
  summary.restarts = init.sidecarRestarts
  summary.lastRestart = init.sidecarLastRestart
  let isRunning = false
  let failure = ''
  for (const container of objectsAt(status, 'containerStatuses').toReversed()) {
    const state = objectAt(container, 'state')
    summary.restarts += numberAt(container, 'restartCount') ?? 0
    summary.lastRestart = later(summary.lastRestart, stringAt(container, 'lastState', 'terminated', 'finishedAt'))
    if (stringAt(state, 'waiting', 'reason') !== '') {
      summary.reason = stringAt(state, 'waiting', 'reason')
    } else if (has(state, 'terminated')) {
      summary.reason = terminatedReason(objectAt(state, 'terminated'))
      if ((numberAt(state, 'terminated', 'exitCode') ?? 0) !== 0) failure = summary.reason
    } else if (flagAt(container, 'ready') && has(state, 'running')) {
      isRunning = true
      summary.ready += 1
    }
  }
  if (summary.reason !== 'Completed') return
  if (isRunning && hasCondition(status, 'Ready')) summary.reason = 'Running'
  else if (failure !== '') summary.reason = failure
  else if (isRunning) summary.reason = 'NotReady'
}

function hasCondition(status: JsonObject, type: string): boolean {
  return objectsAt(status, 'conditions').some(
    (condition) => stringAt(condition, 'type') === type && stringAt(condition, 'status') === 'True',
  )
}

function readinessGates(pod: KubeObject): string {
  const gates = objectsAt(pod, 'spec', 'readinessGates')
  if (gates.length === 0) return none
  const status = objectAt(pod, 'status')
  return `${gates.filter((gate) => hasCondition(status, stringAt(gate, 'conditionType'))).length}/${gates.length}`
}

function later(a: string, b: string): string {
  return a < b ? b : a
}
