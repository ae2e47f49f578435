// Deletes the objects that nothing stamps any more, with the rights of the account that stamped them. An entry in
// status stays as long as its object does: after a restart the controller knows the kinds from there.
import { kind as kindOf } from '@fairlead/client'
import { terminal } from '@fairlead/controller'
import type { ReconcileContext } from '@fairlead/controller'
import { formatKey, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { Blueprint, Owner, ResourceStatus } from '../api.ts'
import { isKept, orphans } from '../engine/orphans.ts'
import type { RealizedResource } from '../engine/realized-resource.ts'
import { accountFor, accountProblem, removalAccount } from '../runtime/account.ts'
import { LiveCluster } from '../runtime/live-cluster.ts'
import type { LiveClusterDependencies } from '../runtime/live-cluster.ts'

/** Time from the report that no blueprint selects an owner to the deletion of its objects, in milliseconds. */
export const removalGrace = 600_000

/** The result of a removal. */
export interface Removal {
  /** Earlier entries of status whose objects may still exist although nothing stamps them. */
  readonly left: readonly ResourceStatus[]
  /** The error to retry. */
  readonly failure?: unknown
}

/** Removes the orphans of one owner in one pass. */
export class OrphanRemoval {
  readonly #context: ReconcileContext<Owner>
  readonly #cluster: LiveClusterDependencies

  constructor(context: ReconcileContext<Owner>, cluster: LiveClusterDependencies) {
    this.#context = context
    this.#cluster = cluster
  }

  /** Deletes the objects that no resource of the blueprint stamps. */
  async afterPass(blueprint: Blueprint, realized: readonly RealizedResource[]): Promise<Removal> {
    const { object: owner } = this.#context
    const unknown = await this.#watchKinds()
    if (isKept(owner)) return { left: [] }
    const found = orphans(this.#cluster.kinds.ownedBy(owner), blueprint.spec.resources, realized)
    const { failure, undeleted } = await this.#delete(
      found,
      accountFor(owner.metadata.namespace ?? '', owner.spec, blueprint.spec),
    )
    const names = new Set(blueprint.spec.resources.map(({ name }) => name))
    const left = (owner.status?.resources ?? []).filter(
      (entry) => !names.has(entry.name) && (unknown.has(entry) || undeleted.some((object) => isOf(entry, object))),
    )
    return { left, failure }
  }

  /** Deletes all objects of an owner that no blueprint selects. */
  async withoutBlueprint(): Promise<Removal> {
    const { object: owner } = this.#context
    const unknown = await this.#watchKinds()
    const found = this.#cluster.kinds.ownedBy(owner).filter((object) => !isKept(object))
    const { failure, undeleted } = await this.#delete(found, removalAccount(owner))
    const left = (owner.status?.resources ?? []).filter(
      (entry) => unknown.has(entry) || undeleted.some((object) => isOf(entry, object)),
    )
    return { left, failure }
  }

  /** Returns whether the owner has objects, as far as known. */
  async hasObjects(): Promise<boolean> {
    const unknown = await this.#watchKinds()
    return unknown.size > 0 || this.#cluster.kinds.ownedBy(this.#context.object).length > 0
  }

  /**
   * Watches the kinds of earlier passes, which may not be watched yet after a restart. Returns the entries of status
   * whose kinds cannot be read now.
   */
  async #watchKinds(): Promise<ReadonlySet<ResourceStatus>> {
    const { object: owner, signal } = this.#context
    const unknown = new Set<ResourceStatus>()
    for (const entry of owner.status?.resources ?? []) {
      const { apiVersion, kind } = entry.stampedRef ?? {}
      if (apiVersion === undefined || kind === undefined) continue
      const { state } = await this.#cluster.kinds.informer(kindOf(apiVersion, kind), formatKey(keyOf(owner)), signal)
      // The objects of a kind that is no longer served are deleted.
      if (state === 'Syncing' || state === 'Forbidden') unknown.add(entry)
    }
    return unknown
  }

  async #delete(
    objects: readonly KubeObject[],
    account: ReturnType<typeof accountFor>,
  ): Promise<{ readonly failure?: unknown; readonly undeleted: readonly KubeObject[] }> {
    if (objects.length === 0) return { undeleted: [] }
    const problem = await accountProblem(account, this.#context.read)
    if (problem !== undefined)
      return { failure: terminal(problem, { reason: 'ServiceAccountError' }), undeleted: objects }
    const cluster = new LiveCluster(this.#context, account, this.#cluster)
    const undeleted: KubeObject[] = []
    let failure: unknown
    for (const object of objects) {
      const error = await cluster.delete(object)
      if (error === undefined) continue
      failure ??= error
      undeleted.push(object)
    }
    return { failure, undeleted }
  }
}

function isOf({ stampedRef }: ResourceStatus, { apiVersion, kind, metadata }: KubeObject): boolean {
  return stampedRef?.apiVersion === apiVersion && stampedRef.kind === kind && stampedRef.name === metadata.name
}
