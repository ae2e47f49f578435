// The admission plugin RuntimeClass: the overhead and scheduling of a pod's class.
import type { JsonObject, KubeObject, MutableJsonObject } from '@fairlead/kube'
import { failure, forbidden, jsonEqual, marshalGoJson } from '@fairlead/kube'
import type { WriteContext } from '../definition/strategy.ts'
import { has, mapAt, objectAt, objectsAt, stringAt } from '../fields.ts'

/**
 * Adds overhead, node selector and tolerations of the class.
 * @throws StatusError 403 when the class does not exist, or pod and class conflict
 */
export function applyRuntimeClass(spec: MutableJsonObject, pod: JsonObject, context: WriteContext): void {
  if (!has(spec, 'runtimeClassName')) return
  const name = stringAt(spec, 'runtimeClassName')
  const wrongName = pathSegmentError(name)
  if (wrongName !== undefined) throw failure(500, undefined, wrongName)
  const refuse = (why: string): never => {
    throw forbidden({ group: '', plural: 'pods' }, stringAt(pod, 'metadata', 'name'), why)
  }
  const found = context.read('runtimeclasses.node.k8s.io', name)
  if (found === undefined) refuse(`pod rejected: RuntimeClass "${name}" not found`)
  const overhead = objectAt(found, 'overhead', 'podFixed')
  if (has(objectAt(found), 'overhead')) {
    if (has(spec, 'overhead') && !jsonEqual(spec['overhead'] ?? null, overhead))
      refuse("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    spec['overhead'] = { ...overhead }
  }
  const selector = mapAt(found, 'scheduling', 'nodeSelector')
  const own = mapAt(spec, 'nodeSelector')
  for (const [key, value] of Object.entries(selector))
    if (own[key] !== undefined && own[key] !== value)
      refuse(
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own[key]}`,
      )
  if (Object.keys(selector).length > 0) spec['nodeSelector'] = { ...own, ...selector }
  const tolerations = objectsAt(spec, 'tolerations')
  const present = new Set(tolerations.map((toleration) => marshalGoJson(toleration)))
  const added = objectsAt(found, 'scheduling', 'tolerations').filter(
    (toleration) => !present.has(marshalGoJson(toleration)),
  )
  if (added.length > 0) spec['tolerations'] = [...tolerations, ...added]
}

/**
 * Refuses a pod with an overhead that no RuntimeClass gave it.
 * @throws StatusError 403
 */
export function refuseOwnOverhead(pod: KubeObject, context: WriteContext): void {
  const spec = objectAt(pod, 'spec')
  const runtimeClass = has(spec, 'runtimeClassName')
    ? context.read('runtimeclasses.node.k8s.io', stringAt(spec, 'runtimeClassName'))
    : undefined
  if (!has(spec, 'overhead') || has(objectAt(runtimeClass), 'overhead')) return
  const why = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead'
  throw forbidden({ group: '', plural: 'pods' }, pod.metadata.name ?? '', why)
}

/** Returns the message of a client of the API for a name that cannot be part of a path. */
function pathSegmentError(name: string): string | undefined {
  if (name === '') return 'resource name may not be empty'
  const wrong = ['/', '%'].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`)
  return wrong.length === 0 ? undefined : `invalid resource name "${name}": [${wrong.join(' ')}]`
}
