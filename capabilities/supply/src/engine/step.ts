// The subjects of a decision pass: an owner with its blueprint, and one resource of it.
import type { Blueprint, BlueprintResource, Owner, OwnerKind, Template } from '../api.ts'
import type { Cluster } from './cluster.ts'
import type { ResolvedInput } from './templates/context.ts'

/** An owner with its blueprint. */
export interface Chain {
  readonly owner: Owner
  readonly ownerKind: OwnerKind
  readonly blueprint: Blueprint
}

/** One resource of the blueprint in one pass. */
export interface Step {
  readonly chain: Chain
  readonly resource: BlueprintResource
  readonly cluster: Cluster
  /** Names of the resources that stamped objects in this pass, by the identity of the object. */
  readonly stampedBy: Map<string, string>
}

/** A resource whose template is chosen and whose inputs have values. */
export interface TemplateStep extends Step {
  readonly template: Template
  readonly inputs: readonly ResolvedInput[]
}
