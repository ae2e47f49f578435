// What the controllers of owners and of blueprints have in common: the kinds that belong together, and whether a blueprint can be used.
import type { Kind } from '@fairlead/client'
import type { Reader } from '@fairlead/controller'
import type { Blueprint, BlueprintKind, Owner, OwnerKind } from '../api.ts'
import { blueprintReadiness } from '../engine/blueprint-readiness.ts'
import type { Verdict } from '../engine/condition.ts'
import { templateNames } from '../engine/templates/template-choice.ts'
import { deliverableKind, deliveryKind, supplyChainKind, templateKind, workloadKind } from './kinds.ts'

/** One of the two pairs. */
export interface Pair {
  readonly ownerKind: OwnerKind
  readonly blueprintKind: BlueprintKind
  readonly owner: Kind<Owner>
  readonly blueprint: Kind<Blueprint>
  /** The field of the owner's status that names its blueprint. */
  readonly reference: 'supplyChainRef' | 'deliveryRef'
}

/** Workloads and their supply chains. */
export const supplyChains: Pair = {
  ownerKind: 'Workload',
  blueprintKind: 'ClusterSupplyChain',
  owner: workloadKind,
  blueprint: supplyChainKind,
  reference: 'supplyChainRef',
}

/** Deliverables and their deliveries. */
export const deliveries: Pair = {
  ownerKind: 'Deliverable',
  blueprintKind: 'ClusterDelivery',
  owner: deliverableKind,
  blueprint: deliveryKind,
  reference: 'deliveryRef',
}

/** Whether all templates of a blueprint are there. What is read wakes the reader. */
export async function readinessOf({ spec }: Blueprint, read: Reader): Promise<Verdict> {
  const present = new Set<string>()
  for (const resource of spec.resources) {
    const { kind } = resource.templateRef
    for (const name of templateNames(resource)) {
      const template = await read.get(templateKind(kind), { namespace: '', name })
      if (template !== undefined) present.add(`${kind}/${name}`)
    }
  }
  return blueprintReadiness(spec.resources, (kind, name) => present.has(`${kind}/${name}`))
}
