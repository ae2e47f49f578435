// The difference of pod specs in error messages: a unified diff of the JSON of Go's internal structs, which have other
// names, another order and no omitted fields.
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import type { MessageType } from '../go-types/message-type.ts'
import { messageType } from '../go-types/message-type.ts'
import { objectAt } from '../fields.ts'
import { goLines } from '../go-types/struct-difference.ts'
import { goName, internalMessage, internalValue } from '../go-types/internal-form.ts'
import { unifiedDifference } from '@fairlead/kube'

const core = 'k8s.io.api.core.v1'

/** Returns the difference from one PodSpec to another; '' when there is none. */
export function podSpecDifference(from: JsonObject, to: JsonObject): string {
  return unifiedDifference(internalLines(from), internalLines(to))
}

/** Fields of the internal PodSpec where its order is not that of v1. */
const internalOrder = [
  'volumes',
  'initContainers',
  'containers',
  'ephemeralContainers',
  'restartPolicy',
  'terminationGracePeriodSeconds',
  'activeDeadlineSeconds',
  'dnsPolicy',
  'nodeSelector',
  'serviceAccountName',
  'automountServiceAccountToken',
  'nodeName',
  'securityContext',
  'imagePullSecrets',
  'hostname',
  'subdomain',
  'setHostnameAsFQDN',
  'affinity',
  'schedulerName',
  'tolerations',
  'hostAliases',
  'priorityClassName',
  'priority',
  'preemptionPolicy',
  'dnsConfig',
  'readinessGates',
  'runtimeClassName',
  'overhead',
  'enableServiceLinks',
  'topologySpreadConstraints',
  'os',
  'schedulingGates',
  'resourceClaims',
  'resources',
  'hostnameOverride',
  'workloadRef',
]

/** Fields of v1's PodSpec that are in the internal security context. */
const hostFields = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers']

function internalLines(spec: JsonObject): string[] {
  return goLines(internalPodSpec(spec))
}

/** Converts a PodSpec to the internal struct. */
function internalPodSpec(spec: JsonObject): JsonObject {
  const type = messageType(`${core}.PodSpec`)
  const form: MutableJsonObject = {}
  for (const name of internalOrder) {
    const field = type.byJsonName.get(name)
    if (field === undefined) continue
    form[goName(name)] = name === 'securityContext' ? securityContext(spec, type) : internalValue(field, spec[name])
  }
  return form
}

/** Converts a PodTemplateSpec to the internal struct, whose metadata has the names of v1. */
export function internalPodTemplate(template: JsonObject): JsonObject {
  const { labels, annotations, ownerReferences, finalizers, ...metadata } = objectAt(template, 'metadata')
  const sorted = (map: JsonValue | undefined): JsonObject =>
    Object.fromEntries(Object.entries((map ?? {}) as JsonObject).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return {
    ...metadata,
    ...(labels === undefined ? {} : { labels: sorted(labels) }),
    ...(annotations === undefined ? {} : { annotations: sorted(annotations) }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
    ...(finalizers === undefined ? {} : { finalizers }),
    Spec: internalPodSpec(objectAt(template, 'spec')),
  }
}

function securityContext(spec: JsonObject, type: MessageType): JsonValue {
  const own = internalMessage(messageType(`${core}.PodSecurityContext`), objectAt(spec, 'securityContext'))
  const host = hostFields.map((name): [string, JsonValue] => {
    const field = type.byJsonName.get(name)
    return [goName(name), field === undefined ? null : internalValue(field, spec[name])]
  })
  return { ...Object.fromEntries(host), ...own }
}
