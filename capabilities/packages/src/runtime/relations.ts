// The edges of package revisions in the graph of derived objects.
import type { ObjectReference, Relation } from '@fairlead/controller'
import { parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { configGroup, porchGroup } from '../api.ts'
import type { PackageService } from './package-service.ts'
import { revisionUid } from './revision-object.ts'

/**
 * Returns the edges that begin or end at a PackageRevision or a Repository: a revision refers to its Repository, and
 * the revision that a task names is upstream of the one that it made.
 */
export function relationsOf(object: KubeObject, service: PackageService): readonly Relation[] {
  const { group } = parseApiVersion(object.apiVersion)
  const { namespace = '', name = '' } = object.metadata
  if (group === configGroup && object.kind === 'Repository') {
    const revisions = service.repositories.get({ namespace, name })?.revisions.keys() ?? []
    return [...revisions].map((revision) => inRepository(namespace, revision, name))
  }
  if (group !== porchGroup || object.kind !== 'PackageRevision') return []
  const repository = name.split('.')[0]!
  return [
    inRepository(namespace, name, repository),
    ...service.upstreamOf(namespace, name).map((upstream) => upstreamEdge(namespace, upstream, name)),
    ...service.downstreamOf(namespace, name).map((downstream) => upstreamEdge(namespace, name, downstream)),
  ]
}

function inRepository(namespace: string, revision: string, repository: string): Relation {
  const to = { apiVersion: `${configGroup}/v1alpha1`, kind: 'Repository', namespace, name: repository }
  return { type: 'refers-to', from: revisionReference(namespace, revision), to }
}

function upstreamEdge(namespace: string, upstream: string, downstream: string): Relation {
  return {
    type: 'upstream-of',
    from: revisionReference(namespace, upstream),
    to: revisionReference(namespace, downstream),
  }
}

function revisionReference(namespace: string, name: string): ObjectReference {
  return {
    apiVersion: `${porchGroup}/v1alpha1`,
    kind: 'PackageRevision',
    namespace,
    name,
    uid: revisionUid(namespace, name),
  }
}
