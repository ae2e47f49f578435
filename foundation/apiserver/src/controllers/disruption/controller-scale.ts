// Counts the Pods that the controllers of some Pods want, by their `scale`. Start reading at scaleOfControllers.
import { kind } from '@fairlead/client'
import type { Client, Deployment, Kind } from '@fairlead/client'
import { controllerOf, formatApiVersion, formatGroupResource, parseApiVersion } from '@fairlead/kube'
import type { KubeObject, OwnerReference } from '@fairlead/kube'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import type { ResourceSource } from '../all-resources-informer.ts'

const ReplicaSet: Kind = kind('apps/v1', 'ReplicaSet', { plural: 'replicasets', namespaced: true })
const DeploymentKind: Kind<Deployment> = kind('apps/v1', 'Deployment', { plural: 'deployments', namespaced: true })

/** Kinds that Kubernetes finds by group, in whichever version a reference names. */
const anyVersion: ReadonlySet<string> = new Set(['/ReplicationController', 'apps/ReplicaSet', 'apps/StatefulSet'])

/** The replicas of a Pod's controller are not known: its kind is not served or cannot be scaled, or it was deleted. */
export class ScaleUnknown extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ScaleUnknown'
  }
}

/** The sum of the replicas of controllers. */
export interface ControllerScale {
  readonly replicas: number
  /** Number of Pods without a controller, which are not in the sum. */
  readonly unmanaged: number
}

interface Scaled {
  readonly uid: string
  readonly replicas: number
}

/**
 * Returns the sum of the replicas of the controllers of Pods: of the Deployment for those of its ReplicaSets, each
 * counted once.
 * @throws ScaleUnknown, and errors of the server
 */
export async function scaleOfControllers(
  pods: readonly KubeObject[],
  resources: ResourceSource,
  client: Client,
): Promise<ControllerScale> {
  const replicas = new Map<string, number>()
  const visited = new Set<string>()
  let unmanaged = 0
  for (const pod of pods) {
    const reference = controllerOf(pod)
    if (reference === undefined) unmanaged++
    if (reference === undefined || visited.has(reference.uid)) continue
    visited.add(reference.uid)
    const { namespace = '', name } = pod.metadata
    const scaled =
      (await deploymentBehind(reference, namespace, client)) ?? (await scaleOf(reference, namespace, resources, client))
    if (scaled === undefined) throw new ScaleUnknown(`found no controllers for pod "${name}"`)
    replicas.set(scaled.uid, scaled.replicas)
  }
  return { replicas: [...replicas.values()].reduce((sum, count) => sum + count, 0), unmanaged }
}

/** Returns the Deployment that controls the ReplicaSet of a reference. */
async function deploymentBehind(
  reference: OwnerReference,
  namespace: string,
  client: Client,
): Promise<Scaled | undefined> {
  if (!isOf(reference, ReplicaSet)) return undefined
  const replicaSet = await client.find(ReplicaSet, { namespace, name: reference.name })
  const owner = replicaSet?.metadata.uid === reference.uid ? controllerOf(replicaSet) : undefined
  if (owner === undefined || !isOf(owner, DeploymentKind)) return undefined
  const deployment = await client.find(DeploymentKind, { namespace, name: owner.name })
  if (deployment?.metadata.uid !== owner.uid) return undefined
  return { uid: owner.uid, replicas: deployment.spec.replicas ?? 1 }
}

function isOf({ apiVersion, kind: name }: OwnerReference, wanted: Kind): boolean {
  return name === wanted.kind && parseApiVersion(apiVersion).group === wanted.group
}

/** Returns the scale of a controller; undefined when it does not exist. @throws ScaleUnknown */
async function scaleOf(
  reference: OwnerReference,
  namespace: string,
  resources: ResourceSource,
  client: Client,
): Promise<Scaled | undefined> {
  const { definition, version } = servedBy(reference, resources)
  if (!version.subresources.some(({ name }) => name === 'scale'))
    throw new ScaleUnknown(`${formatGroupResource(definition)} does not implement the scale subresource`)
  const { group, plural, namespaced } = definition
  const scalable = kind(formatApiVersion(group, version.name), reference.kind, { plural, namespaced })
  const scale = await client.find(scalable, { namespace, name: reference.name }, { subresource: 'scale' })
  if (scale === undefined || scale.metadata.uid !== reference.uid) return undefined
  return { uid: reference.uid, replicas: (scale['spec'] as { replicas?: number } | undefined)?.replicas ?? 0 }
}

/** @throws ScaleUnknown */
function servedBy(
  { apiVersion, kind: name }: OwnerReference,
  { definitions }: ResourceSource,
): { readonly definition: ResourceDefinition; readonly version: ResourceDefinition['versions'][number] } {
  const wanted = parseApiVersion(apiVersion)
  for (const definition of definitions) {
    if (definition.group !== wanted.group || definition.kind !== name) continue
    const version = definition.versions.find(
      (candidate) =>
        candidate.served && (candidate.name === wanted.version || anyVersion.has(`${definition.group}/${name}`)),
    )
    if (version !== undefined) return { definition, version }
  }
  throw new ScaleUnknown(`no matches for kind "${name}" in version "${apiVersion}"`)
}
