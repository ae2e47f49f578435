// The plugin ServiceAccount (plugin/pkg/admission/serviceaccount, v1.35): a Pod runs as a service account that exists,
// and each of its containers gets a token of it.
import { generatedName, goQuote } from '@fairlead/kube'
import type { Clock, JsonObject, KubeObject } from '@fairlead/kube'
import { refusal } from './attributes.ts'
import type { AdmissionAttributes } from './attributes.ts'
import type { AdmissionPlugin } from './plugin.ts'

/** Access of the plugin to objects and time. */
export interface ServiceAccountSource {
  readonly clock: Pick<Clock, 'sleep'>
  /** Returns numbers in [0, 1). */
  readonly random: () => number
  /** Returns an object as stored, from memory. */
  readonly read: (resource: string, key: string) => KubeObject | undefined
}

interface ServiceAccount extends KubeObject {
  readonly automountServiceAccountToken?: boolean
  readonly imagePullSecrets?: readonly Reference[]
  readonly secrets?: readonly Reference[]
}

interface Reference {
  readonly name?: string
}

interface Container {
  readonly name?: string
  readonly volumeMounts?: readonly { readonly mountPath?: string }[]
  readonly env?: readonly { readonly name?: string; readonly valueFrom?: { readonly secretKeyRef?: Reference } }[]
}

interface Volume {
  readonly name?: string
  readonly secret?: { readonly secretName?: string }
  readonly projected?: { readonly sources?: readonly { readonly serviceAccountToken?: unknown }[] }
}

interface PodSpec {
  readonly serviceAccountName?: string
  readonly automountServiceAccountToken?: boolean
  readonly imagePullSecrets?: readonly Reference[]
  readonly volumes?: readonly Volume[]
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
}

const defaultAccount = 'default'
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
const volumePrefix = 'kube-api-access-'
const mirrorAnnotation = 'kubernetes.io/config.mirror'
const enforcedAnnotation = 'kubernetes.io/enforce-mountable-secrets'
/** An hour, and seven seconds by which the default of this plugin can be distinguished from a wish of the user. */
const tokenSeconds = 3607
/** The account `default` of a new namespace is created by a controller, which may take a moment. Milliseconds. */
const lookups = { count: 10, delay: 100 }

/** Returns the plugin; its messages are those of the real server. */
export function serviceAccountPlugin(source: ServiceAccountSource): AdmissionPlugin {
  return {
    name: 'ServiceAccount',
    async mutate(attributes) {
      if (!isPod(attributes) || attributes.operation !== 'CREATE' || isMirror(attributes.object!)) return undefined
      const pod = attributes.object!
      const spec = specOf(pod)
      const name = spec.serviceAccountName || defaultAccount
      const account = await accountOf(name, attributes, source)
      const mounted = shouldMount(spec, account) ? withToken(spec, source.random) : spec
      const pullSecrets = (spec.imagePullSecrets ?? []).length > 0 ? spec.imagePullSecrets : account.imagePullSecrets
      return {
        ...pod,
        spec: {
          ...mounted,
          serviceAccountName: name,
          serviceAccount: name,
          ...(pullSecrets === undefined || pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets }),
        },
      } as unknown as JsonObject
    },
    async validate(attributes) {
      if (!isPod(attributes)) return
      const pod = attributes.object!
      const spec = specOf(pod)
      if (isMirror(pod)) {
        const problem = mirrorError(spec)
        if (problem !== undefined) throw refusal(attributes, problem)
        return
      }
      if ((spec.serviceAccountName ?? '') === '')
        throw refusal(
          attributes,
          `no service account specified for pod ${attributes.namespace}/${pod.metadata.name ?? ''}`,
        )
      const account = await accountOf(spec.serviceAccountName!, attributes, source)
      if (account.metadata.annotations?.[enforcedAnnotation] !== 'true') return
      const problem = secretError(spec, account)
      if (problem !== undefined) throw refusal(attributes, problem)
    },
  }
}

function isPod({ operation, resource, subresource, object }: AdmissionAttributes): boolean {
  const { group, plural } = resource.definition
  if (group !== '' || plural !== 'pods' || object === undefined) return false
  return operation === 'CREATE' ? subresource === '' : operation === 'UPDATE' && subresource === 'ephemeralcontainers'
}

function isMirror({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[mirrorAnnotation] !== undefined
}

function specOf(object: KubeObject): PodSpec {
  return (object['spec'] ?? {}) as PodSpec
}

async function accountOf(
  name: string,
  attributes: AdmissionAttributes,
  { clock, read }: ServiceAccountSource,
): Promise<ServiceAccount> {
  const key = `${attributes.namespace}/${name}`
  for (let lookup = 1; ; lookup++) {
    const account = read('serviceaccounts.', key)
    if (account !== undefined) return account as ServiceAccount
    if (name !== defaultAccount || lookup === lookups.count) break
    await clock.sleep(lookups.delay, attributes.signal)
  }
  throw refusal(attributes, `error looking up service account ${key}: serviceaccount ${goQuote(name)} not found`)
}

function shouldMount(spec: PodSpec, account: ServiceAccount): boolean {
  return spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true
}

/** Returns the spec with the token in every container that mounts nothing else at its path. */
function withToken(spec: PodSpec, random: () => number): PodSpec {
  const own = spec.volumes?.find(({ name }) => name?.startsWith(volumePrefix))
  const name = own?.name ?? generatedName(volumePrefix, random)
  let isNeeded = false
  const mount = (container: Container): Container => {
    const mounts = container.volumeMounts ?? []
    if (mounts.some((existing) => existing.mountPath === mountPath)) return container
    isNeeded = true
    return { ...container, volumeMounts: [...mounts, { name, readOnly: true, mountPath } as object] }
  }
  const { initContainers, containers } = spec
  const mounted = {
    ...spec,
    ...(initContainers && { initContainers: initContainers.map(mount) }),
    ...(containers && { containers: containers.map(mount) }),
  }
  if (own !== undefined || !isNeeded) return mounted
  return { ...mounted, volumes: [...(spec.volumes ?? []), { name, projected: tokenVolume } as Volume] }
}

/** The projected volume: token, certificate authority and namespace. */
const tokenVolume = {
  defaultMode: 0o644,
  sources: [
    { serviceAccountToken: { path: 'token', expirationSeconds: tokenSeconds } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: {
        items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
      },
    },
  ],
}

/** A Pod that mirrors a static one has no identity of its own. */
function mirrorError(spec: PodSpec): string | undefined {
  if ((spec.serviceAccountName ?? '') !== '') return 'a mirror pod may not reference service accounts'
  const volumes = spec.volumes ?? []
  const readsSecret = containersOf(spec).some(({ container }) => secretVariables(container).length > 0)
  if (readsSecret || volumes.some(({ secret }) => secret !== undefined)) return 'a mirror pod may not reference secrets'
  return volumes.some(({ projected }) => projected?.sources?.some((source) => source.serviceAccountToken !== undefined))
    ? 'a mirror pod may not use ServiceAccountToken volume projections'
    : undefined
}

/** Returns the error of a Pod that uses secrets which its account does not list. */
function secretError(spec: PodSpec, account: ServiceAccount): string | undefined {
  const lacks = `is not allowed because service account ${account.metadata.name} does not reference that`
  const secrets = new Set(account.secrets?.map(({ name }) => name))
  for (const { secret } of spec.volumes ?? []) {
    if (secret !== undefined && !secrets.has(secret.secretName))
      return `volume with secret.secretName=${goQuote(secret.secretName ?? '')} ${lacks} secret`
  }
  for (const { role, container } of containersOf(spec)) {
    for (const { name = '', valueFrom } of secretVariables(container)) {
      const secret = valueFrom!.secretKeyRef!.name ?? ''
      if (!secrets.has(secret))
        return `${role} ${container.name} with envVar ${name} referencing secret.secretName=${goQuote(secret)} ${lacks} secret`
    }
  }
  const pullSecrets = new Set(account.imagePullSecrets?.map(({ name }) => name))
  for (const [index, { name = '' }] of (spec.imagePullSecrets ?? []).entries()) {
    if (!pullSecrets.has(name)) return `imagePullSecrets[${index}].name=${goQuote(name)} ${lacks} imagePullSecret`
  }
  return undefined
}

function containersOf(spec: PodSpec): readonly { readonly role: string; readonly container: Container }[] {
  return [
    ...(spec.initContainers ?? []).map((container) => ({ role: 'init container', container })),
    ...(spec.containers ?? []).map((container) => ({ role: 'container', container })),
  ]
}

function secretVariables({ env = [] }: Container): NonNullable<Container['env']> {
  return env.filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined)
}
