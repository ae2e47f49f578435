// Renders owners from manifests alone, with the selection and the decision pass of the controller. Start with render.
import type { KubeObject } from '@fairlead/kube'
import type { Blueprint, BlueprintKind, Owner, OwnerKind } from '../api.ts'
import { apiVersion } from '../api.ts'
import { realize } from '../engine/realize.ts'
import type { RealizedResource } from '../engine/realized-resource.ts'
import { bestMatches, selectionMessage, selectorOf } from '../engine/blueprints/selection.ts'
import { FileCluster } from './file-cluster.ts'
import type { FileClusterOptions } from './file-cluster.ts'
import { ManifestIndex } from './manifest-index.ts'

/** An owner and what it stamps. */
export interface Rendering {
  readonly owner: Owner
  readonly blueprint: Blueprint | undefined
  /** Why no blueprint was selected. */
  readonly problem?: string
  readonly realized: readonly RealizedResource[]
  readonly stamped: readonly KubeObject[]
}

const blueprintKinds: Readonly<Record<OwnerKind, BlueprintKind>> = {
  Workload: 'ClusterSupplyChain',
  Deliverable: 'ClusterDelivery',
}

/** Renders every owner among the objects, in their order. */
export async function render(objects: readonly KubeObject[], options: FileClusterOptions): Promise<Rendering[]> {
  const manifests = new ManifestIndex(objects)
  return Promise.all(objects.filter(isOwner).map((owner) => renderOne(owner, manifests, options)))
}

function isOwner(object: KubeObject): object is Owner {
  return object.apiVersion === apiVersion && Object.hasOwn(blueprintKinds, object.kind)
}

async function renderOne(owner: Owner, manifests: ManifestIndex, options: FileClusterOptions): Promise<Rendering> {
  const ownerKind = owner.kind as OwnerKind
  const candidates = manifests.own<Blueprint>(blueprintKinds[ownerKind])
  const selectors = candidates.map(({ spec }) => selectorOf(spec))
  const matches = bestMatches(owner, selectors).map((index) => candidates[index]!)
  const [blueprint] = matches
  if (blueprint === undefined || matches.length > 1) {
    const problem = selectionMessage(ownerKind, owner, matches.length)
    return { owner, blueprint: undefined, problem, realized: [], stamped: [] }
  }
  const cluster = new FileCluster(owner, manifests, options)
  const realized = await realize({ owner, ownerKind, blueprint }, cluster)
  return { owner, blueprint, realized, stamped: cluster.stamped }
}
