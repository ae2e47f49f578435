// Admission by the PodSecurity labels of namespaces (plugin PodSecurity, v1.35): pods are refused or warned of,
// templates of pods are warned of, and a stricter level names the existing pods that violate it.
import { invalid } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { AdmissionAttributes } from '../attributes.ts'
import { refusal } from '../attributes.ts'
import type { AdmissionPlugin } from '../plugin.ts'
import type { CheckedPod, Container } from './pod.ts'
import { isStricter, policyOf, policyText, violationsOf } from './policy.ts'
import type { LevelVersion } from './policy.ts'
import type { Violation } from './violation.ts'

/** The plugin's access to stored objects, from memory. */
export interface PodSecurityOptions {
  readonly read: (resource: string, key: string) => KubeObject | undefined
  readonly listNamespace: (resource: string, namespace: string) => Iterable<KubeObject>
}

/** Maximum number of existing pods that a change of the level checks. */
const maxPods = 3000

/** Paths of templates of pods, by resource. */
const templatePaths: Readonly<Record<string, readonly string[]>> = {
  'replicationcontrollers.': ['spec', 'template'],
  'podtemplates.': ['template'],
  'replicasets.apps': ['spec', 'template'],
  'deployments.apps': ['spec', 'template'],
  'statefulsets.apps': ['spec', 'template'],
  'daemonsets.apps': ['spec', 'template'],
  'jobs.batch': ['spec', 'template'],
  'cronjobs.batch': ['spec', 'jobTemplate', 'spec', 'template'],
}

/** Subresources of pods that do not change the spec. */
const ignoredSubresources: ReadonlySet<string> = new Set(
  'exec attach binding eviction log portforward proxy status'.split(' '),
)

/** Returns the plugin. */
export function podSecurityPlugin(options: PodSecurityOptions): AdmissionPlugin {
  return {
    name: 'PodSecurity',
    validate(attributes) {
      const { operation, resource, subresource, object } = attributes
      if (object === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      const name = `${resource.definition.plural}.${resource.definition.group}`
      if (name === 'namespaces.') {
        if (subresource === '') checkNamespace(attributes, options)
      } else if (name === 'pods.') {
        if (!ignoredSubresources.has(subresource)) checkPod(attributes, object, options)
      } else if (subresource === '' && Object.hasOwn(templatePaths, name)) {
        const template = templateAt(object, templatePaths[name]!)
        const namespace = options.read('namespaces.', attributes.namespace)
        if (template !== undefined && namespace !== undefined) warn(attributes, template, policyOf(namespace).warn)
      }
    },
  }
}

function templateAt(object: KubeObject, path: readonly string[]): CheckedPod | undefined {
  let value: unknown = object
  for (const field of path) value = (value as JsonObject | undefined)?.[field] ?? undefined
  return value as CheckedPod | undefined
}

function checkPod(attributes: AdmissionAttributes, object: KubeObject, { read }: PodSecurityOptions): void {
  const namespace = read('namespaces.', attributes.namespace)
  if (namespace === undefined) return
  const { enforce, warn: warned } = policyOf(namespace)
  if (enforce.level === 'privileged' && warned.level === 'privileged') return
  const { operation, oldObject } = attributes
  if (operation === 'UPDATE' && !isSignificant(object as CheckedPod, oldObject as CheckedPod)) return
  const violations = violationsOf(object as CheckedPod, enforce)
  if (violations.length > 0)
    throw refusal(attributes, `violates PodSecurity "${policyText(enforce)}": ${detailOf(violations)}`)
  warn(attributes, object as CheckedPod, warned)
}

function warn({ warnings }: AdmissionAttributes, pod: CheckedPod, policy: LevelVersion): void {
  const violations = violationsOf(pod, policy)
  if (violations.length > 0) warnings.push(`would violate PodSecurity "${policyText(policy)}": ${detailOf(violations)}`)
}

function detailOf(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ')
}

/** Returns true when an update changes what the checks read and pods may change: images, profiles, containers. */
function isSignificant(pod: CheckedPod, old: CheckedPod): boolean {
  const changes = (key: string): boolean => pod.metadata?.annotations?.[key] !== old.metadata?.annotations?.[key]
  if (changes('seccomp.security.alpha.kubernetes.io/pod')) return true
  return (['containers', 'initContainers', 'ephemeralContainers'] as const).some((list) => {
    const before = new Map((old.spec?.[list] ?? []).map((container: Container) => [container.name, container]))
    const now = pod.spec?.[list] ?? []
    if (now.length !== before.size) return true
    return now.some(
      ({ name, image }) =>
        before.get(name)?.image !== image || changes(`container.seccomp.security.alpha.kubernetes.io/${name}`),
    )
  })
}

/** Refuses invalid labels that are new, and warns of the pods that violate a stricter level. */
function checkNamespace(attributes: AdmissionAttributes, { listNamespace }: PodSecurityOptions): void {
  const { operation, object, oldObject, resource, warnings } = attributes
  const { enforce, errors } = policyOf(object!)
  const old = oldObject === undefined ? undefined : policyOf(oldObject)
  const texts = (list: typeof errors): string => JSON.stringify(list)
  const name = object!.metadata.name ?? ''
  if (errors.length > 0 && (old === undefined || texts(errors) !== texts(old.errors)))
    throw invalid(resource.definition, name, errors)
  if (operation !== 'UPDATE' || old === undefined || enforce.level === 'privileged') return
  if (enforce.version === old.enforce.version && !isStricter(enforce, old.enforce)) return
  const pods = [...listNamespace('pods.', name)]
  const violating = Map.groupBy(
    pods.slice(0, maxPods).flatMap((pod) => {
      const reasons = violationsOf(pod as CheckedPod, enforce).map(({ reason }) => reason)
      return reasons.length === 0 ? [] : [{ reason: reasons.join(', '), pod: pod.metadata.name ?? '' }]
    }),
    ({ reason }) => reason,
  )
  if (pods.length > maxPods)
    warnings.push(
      `new PodSecurity enforce level only checked against the first ${maxPods} of ${pods.length} existing pods`,
    )
  if (violating.size === 0) return
  warnings.push(
    `existing pods in namespace "${name}" violate the new PodSecurity enforce level "${policyText(enforce)}"`,
  )
  warnings.push(
    ...[...violating].map(([reason, found]) => `${podsText(found.map(({ pod }) => pod))}: ${reason}`).toSorted(),
  )
}

function podsText(names: readonly string[]): string {
  const [first] = names.toSorted()
  if (names.length === 1) return first!
  return `${first} (and ${names.length - 1} other ${names.length === 2 ? 'pod' : 'pods'})`
}
