// The kinds of the two chains that differ in nothing else: Workload with ClusterSupplyChain, Deliverable with
// ClusterDelivery.
import type { Kind } from '@fairlead/client'
import type { Blueprint, BlueprintKind, Owner, OwnerKind } from '../api.ts'
import { deliverableKind, deliveryKind, supplyChainKind, workloadKind } from './kinds.ts'

/** An owner kind with its blueprint kind. */
export interface ChainKinds {
  readonly ownerKind: OwnerKind
  readonly blueprintKind: BlueprintKind
  /** Short name of the owner kind. */
  readonly shortName: string
  readonly owner: Kind<Owner>
  readonly blueprint: Kind<Blueprint>
  /** The field of the owner's status that references its blueprint. */
  readonly reference: 'supplyChainRef' | 'deliveryRef'
}

/** Workloads and supply chains. */
export const supplyChains: ChainKinds = {
  ownerKind: 'Workload',
  blueprintKind: 'ClusterSupplyChain',
  shortName: 'wld',
  owner: workloadKind,
  blueprint: supplyChainKind,
  reference: 'supplyChainRef',
}

/** Deliverables and deliveries. */
export const deliveries: ChainKinds = {
  ownerKind: 'Deliverable',
  blueprintKind: 'ClusterDelivery',
  shortName: 'dlv',
  owner: deliverableKind,
  blueprint: deliveryKind,
  reference: 'deliveryRef',
}
