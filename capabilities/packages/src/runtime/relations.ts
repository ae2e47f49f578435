// The edges of package revisions in the graph of derived objects. Start with relations.
import { Secret } from '@fairlead/client'
import { objectReference } from '@fairlead/controller'
import type { ObjectReader, ObjectReference, ObjectState, Relation, RelationSource } from '@fairlead/controller'
import { parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, RepositoryKind, configGroup, porchGroup } from '../api.ts'
import type { PackageRevision, Repository } from '../api.ts'
import { unmetGates } from '../engine/lifecycle.ts'
import { upstreamNames } from './upstream-names.ts'

/**
 * The edges that begin or end at a PackageRevision or a Repository: a revision refers to its Repository, the revision
 * that a task names is upstream of the one that it made, and a Repository refers to the Secret of its credentials.
 */
export const relations: RelationSource = {
  relations: relationsOf,
  stateOf,
  // The files of revisions, and their packages.
  views: ['PackageRevisionResources', 'PackageRevisionPreview', 'PorchPackage'].map((kind) => ({
    group: porchGroup,
    kind,
  })),
}

async function relationsOf(object: KubeObject, read: ObjectReader): Promise<readonly Relation[]> {
  const { group } = parseApiVersion(object.apiVersion)
  const { namespace = '', name = '' } = object.metadata
  if (group === configGroup && object.kind === RepositoryKind.kind) {
    const { objects } = await read.list<PackageRevision>(PackageRevisionKind, namespace)
    return [
      ...secretOf(object as Repository),
      ...objects.filter(({ spec }) => spec.repository === name).map(inRepository),
    ]
  }
  if (group !== porchGroup || object.kind !== PackageRevisionKind.kind) return []
  const revision = object as PackageRevision
  const { objects } = await read.list<PackageRevision>(PackageRevisionKind, namespace)
  const upstreams = (revision.spec.tasks ?? []).flatMap(upstreamNames)
  const downstreams = objects.filter(
    ({ metadata, spec }) => metadata.name !== name && (spec.tasks ?? []).flatMap(upstreamNames).includes(name),
  )
  return [
    inRepository(revision),
    ...upstreams.map((upstream) => upstreamEdge(revisionReference(namespace, upstream), objectReference(object))),
    ...downstreams.map((downstream) => upstreamEdge(objectReference(object), objectReference(downstream))),
  ]
}

/** Returns the state of a revision: a draft waits for people. */
function stateOf(object: KubeObject): ObjectState | undefined {
  if (object.kind !== PackageRevisionKind.kind || parseApiVersion(object.apiVersion).group !== porchGroup)
    return undefined
  const { metadata, spec, status } = object as PackageRevision
  const { namespace = '', name = '' } = metadata
  const command = (verb: string): string => `fairlead rpkg ${verb} ${name} -n ${namespace}`
  const unmet = unmetGates(spec.readinessGates ?? [], status?.conditions ?? [])
  const { lifecycle = 'Draft' } = spec
  if (unmet.length > 0 && lifecycle !== 'Published') {
    const found = status?.conditions?.find(({ type }) => unmet.includes(type))
    const detail = found?.message === undefined || found.message === '' ? '' : `: ${found.message}`
    return {
      state: 'NotReady',
      reason: 'GatesNotMet',
      message: `its readiness gate ${unmet.join(', ')} is not met${detail}`,
    }
  }
  switch (lifecycle) {
    case 'Draft':
      return {
        state: 'Waiting',
        reason: 'Draft',
        message: 'it is a draft that was not proposed yet',
        next: command('propose'),
      }
    case 'Proposed':
      return { state: 'Waiting', reason: 'Proposed', message: 'it waits for approval', next: command('approve') }
    case 'DeletionProposed':
      return {
        state: 'Waiting',
        reason: 'DeletionProposed',
        message: 'its deletion waits for approval',
        next: `${command('delete')}, or keep it: ${command('reject')}`,
      }
    case 'Published':
      return { state: 'Ready', reason: 'Published', message: '' }
  }
}

function inRepository(revision: PackageRevision): Relation {
  const { apiVersion, kind } = RepositoryKind
  const { namespace = '' } = revision.metadata
  const to = { apiVersion, kind, namespace, name: revision.spec.repository }
  return { type: 'refers-to', from: objectReference(revision), to }
}

function secretOf(repository: Repository): readonly Relation[] {
  const name = repository.spec?.git?.secretRef?.name
  if (name === undefined || name === '') return []
  const { apiVersion, kind } = Secret
  const { namespace = '' } = repository.metadata
  return [{ type: 'refers-to', from: objectReference(repository), to: { apiVersion, kind, namespace, name } }]
}

function upstreamEdge(from: ObjectReference, to: ObjectReference): Relation {
  return { type: 'upstream-of', from, to }
}

function revisionReference(namespace: string, name: string): ObjectReference {
  const { apiVersion, kind } = PackageRevisionKind
  return { apiVersion, kind, namespace, name }
}
