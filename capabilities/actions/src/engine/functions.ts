// The built-in functions of patterns (originals/kappnav.md §1.8), without the original's bugs and without a child
// process.
import { isJsonObject, parseApiVersion } from '@fairlead/kube'
import type { KubeObject, LabelSelector } from '@fairlead/kube'
import { applicationApi, componentNamespaces, isApplication, selectorOf } from './application.ts'
import type { Cluster } from './cluster.ts'
import { kubectlGet } from './kubectl-get.ts'
import type { CallFunction } from './patterns/pattern-resolver.ts'
import { PatternError } from './patterns/pattern.ts'

const deployments = { apiVersion: 'apps/v1', kind: 'Deployment' }
const pods = { apiVersion: 'v1', kind: 'Pod' }
const replicaSets = { apiVersion: 'apps/v1', kind: 'ReplicaSet' }

const revisionAnnotation = 'deployment.kubernetes.io/revision'

/** Returns the functions for one target. They read through `cluster`, with its rights. */
export function functionsFor(resource: KubeObject, cluster: Cluster): CallFunction {
  const namespace = resource.metadata.namespace ?? 'default'
  return async (name, args) => {
    switch (name) {
      case 'podlist':
        return podsJson(await podsOf(await subjectOf(name, args, resource, cluster, deployments), cluster))
      case 'apppodlist':
        return podsJson(
          await podsOfApplication(await subjectOf(name, args, resource, cluster, applicationApi), cluster),
        )
      case 'replicaset':
        return newestReplicaSet(await subjectOf(name, args, resource, cluster, deployments), cluster)
      case 'kubectlGet':
        return kubectlGet(args, namespace, cluster)
      case 'encode':
        return encodeURIComponent(args.join(','))
      default:
        throw failed(name, `unknown function; the functions are ${functionNames.join(', ')}`)
    }
  }
}

/** The names of the functions. */
export const functionNames: readonly string[] = ['podlist', 'apppodlist', 'replicaset', 'kubectlGet', 'encode']

/** Returns the target itself without arguments, else the object `(namespace,name)`. */
async function subjectOf(
  name: string,
  args: readonly string[],
  resource: KubeObject,
  cluster: Cluster,
  kind: { readonly apiVersion: string; readonly kind: string },
): Promise<KubeObject> {
  const [namespace, object, ...more] = args
  if (namespace === undefined) {
    const matches =
      kind.kind === 'Application'
        ? isApplication(resource)
        : resource.kind === kind.kind && ['apps', 'extensions'].includes(parseApiVersion(resource.apiVersion).group)
    if (matches) return resource
    throw failed(
      name,
      `without arguments the resource must be a ${kind.kind}, and it is a ${resource.kind}; write ${name}(NAMESPACE,NAME)`,
    )
  }
  if (object === undefined || more.length > 0)
    throw failed(name, `it takes either no or two arguments, ${name}(NAMESPACE,NAME), not ${args.length}`)
  const found = await cluster.find(kind, { namespace, name: object })
  if (found === undefined) throw failed(name, `${kind.kind} ${namespace}/${object} does not exist`)
  return found
}

async function podsOf(deployment: KubeObject, cluster: Cluster): Promise<readonly KubeObject[]> {
  return cluster.list(pods, {
    namespace: deployment.metadata.namespace ?? 'default',
    labelSelector: selectorIn(deployment),
  })
}

async function podsOfApplication(application: KubeObject, cluster: Cluster): Promise<readonly KubeObject[]> {
  const labelSelector = selectorOf(application)
  if (labelSelector === undefined) return []
  const found = new Map<string, KubeObject>()
  for (const namespace of componentNamespaces(application)) {
    for (const deployment of await cluster.list(deployments, { namespace, labelSelector })) {
      for (const pod of await podsOf(deployment, cluster))
        found.set(`${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}`, pod)
    }
  }
  return [...found.values()]
}

/** Returns the name of the ReplicaSet with the highest revision, of those that the Deployment owns if it owns any. */
async function newestReplicaSet(deployment: KubeObject, cluster: Cluster): Promise<string> {
  const selected = await cluster.list(replicaSets, {
    namespace: deployment.metadata.namespace ?? 'default',
    labelSelector: selectorIn(deployment),
  })
  const owned = selected.filter(
    ({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === deployment.metadata.uid) ?? false,
  )
  const [newest] = (owned.length > 0 ? owned : selected).toSorted(
    (a, b) => revisionOf(b) - revisionOf(a) || createdOf(b) - createdOf(a),
  )
  if (newest === undefined) throw failed('replicaset', `Deployment ${deployment.metadata.name ?? ''} has no ReplicaSet`)
  return newest.metadata.name ?? ''
}

function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0) || 0
}

function createdOf({ metadata }: KubeObject): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0
}

/** A Deployment without a selector selects nothing rather than everything. */
function selectorIn(deployment: KubeObject): LabelSelector {
  const spec = isJsonObject(deployment.spec) ? deployment.spec : {}
  if (isJsonObject(spec['selector']) && Object.keys(spec['selector']).length > 0)
    return spec['selector'] as LabelSelector
  throw new PatternError('FunctionFailed', `Deployment ${deployment.metadata.name ?? ''} has no selector`)
}

function podsJson(found: readonly KubeObject[]): string {
  return JSON.stringify({ pods: found.map(({ metadata }) => metadata.name ?? '') })
}

function failed(name: string, why: string): PatternError {
  return new PatternError('FunctionFailed', `func.${name}: ${why}`)
}
