// What an owner would stamp, from files alone: the same selection and the same realizing as the controller's.
import type { KubeObject } from '@fairlead/kube'
import type { Blueprint, Owner, OwnerKind } from '../api.ts'
import type { RealizedResource } from '../engine/realized-resource.ts'
import { selectionMessage, selectorOf, winners } from '../engine/selection.ts'
import { realize } from '../engine/realize.ts'
import { OfflineGround } from './file-cluster.ts'

/** What came of one owner. */
export interface Rendering {
  readonly owner: Owner
  readonly blueprint: Blueprint | undefined
  /** Why there is no blueprint. */
  readonly problem?: string
  readonly realized: readonly RealizedResource[]
  readonly stamped: readonly KubeObject[]
}

const blueprints: Readonly<Record<OwnerKind, string>> = {
  Workload: 'ClusterSupplyChain',
  Deliverable: 'ClusterDelivery',
}

/** Renders every owner among the objects. */
export async function render(
  objects: readonly KubeObject[],
  options: { readonly ytt: string | undefined; readonly now: number },
): Promise<Rendering[]> {
  const owners = objects.filter((object): object is Owner => object.kind in blueprints)
  return Promise.all(owners.map((owner) => renderOne(owner, objects, options)))
}

async function renderOne(
  owner: Owner,
  objects: readonly KubeObject[],
  options: { readonly ytt: string | undefined; readonly now: number },
): Promise<Rendering> {
  const ownerKind = owner.kind as OwnerKind
  const candidates = objects.filter(
    ({ kind }) => kind === blueprints[ownerKind],
  ) as readonly KubeObject[] as readonly Blueprint[]
  const found = winners(
    owner,
    candidates.map(({ spec }) => selectorOf(spec)),
  ).map((index) => candidates[index]!)
  const [blueprint] = found
  if (blueprint === undefined || found.length > 1)
    return {
      owner,
      blueprint: undefined,
      problem: selectionMessage(ownerKind, owner, found.length),
      realized: [],
      stamped: [],
    }
  const ground = new OfflineGround(objects, options)
  const realized = await realize({ owner, ownerKind, blueprint }, ground)
  return { owner, blueprint, realized, stamped: ground.stamped }
}
