// Fields supported by field selectors beyond metadata.name and metadata.namespace (strategy.go and conversion.go of
// each kind, v1.35).
import type { KubeObject } from '@fairlead/kube'

type Fields = Readonly<Record<string, (object: KubeObject) => string>>

const eventFields: Fields = {
  ...paths(
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
  ),
  ...paths('involvedObject.resourceVersion', 'involvedObject.fieldPath', 'reason', 'type'),
  reportingComponent: path('reportingComponent'),
  source: (object) => stringOf(object, ['source', 'component']) || stringOf(object, ['reportingComponent']),
}

const newEventFields: Fields = {
  ...Object.fromEntries(
    ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((field) => [
      `regarding.${field}`,
      path(`regarding.${field}`),
    ]),
  ),
  reason: path('reason'),
  type: path('type'),
  reportingController: path('reportingController'),
}

const fields: Readonly<Record<string, Fields>> = {
  '/Event': eventFields,
  'events.k8s.io/Event': newEventFields,
  '/Namespace': { ...paths('status.phase'), name: path('metadata.name') },
  '/Node': flags('spec.unschedulable'),
  '/Pod': {
    ...paths(
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'status.phase',
      'status.podIP',
    ),
    ...paths('status.nominatedNodeName'),
    ...flags('spec.hostNetwork'),
    'status.podIPs': (object) => stringOf(object, ['status', 'podIP']),
  },
  '/ReplicationController': counts('status.replicas'),
  '/Secret': paths('type'),
  '/Service': paths('spec.clusterIP', 'spec.type'),
  'batch/Job': counts('status.successful', ['status', 'succeeded']),
  'certificates.k8s.io/CertificateSigningRequest': paths('spec.signerName'),
}

/** Returns the selectable fields of a built-in kind. */
export function selectableFieldsOf(group: string, kind: string): Fields {
  return fields[`${group}/${kind}`] ?? {}
}

function paths(...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, path(name)]))
}

function path(name: string): (object: KubeObject) => string {
  const steps = name.split('.')
  return (object) => stringOf(object, steps)
}

/** Returns the getter of a boolean, `false` when absent. */
function flags(name: string): Fields {
  const read = path(name)
  return { [name]: (object) => read(object) || 'false' }
}

/** Returns the getter of a number, `0` when absent. */
function counts(name: string, steps: readonly string[] = name.split('.')): Fields {
  return { [name]: (object) => stringOf(object, steps) || '0' }
}

function stringOf(object: KubeObject, steps: readonly string[]): string {
  let value: unknown = object
  for (const step of steps) {
    if (typeof value !== 'object' || value === null) return ''
    value = (value as Record<string, unknown>)[step]
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
