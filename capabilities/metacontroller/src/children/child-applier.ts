// Writes children by server-side apply, with the fields of all Metacontrollers' children: one manager for all parents.
import type { Client } from '@fairlead/client'
import type { JsonObject, KubeObject, ManagedFieldsEntry } from '@fairlead/kube'
import { formatTime, isInvalid, jsonEqual, keyOf } from '@fairlead/kube'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import { checkSuccessor } from '../runtime/writer.ts'
import type { ServerSideApply } from './apply-strategy.ts'
import { needsUpgrade, unrecordedContentOf, upgradedFields } from './apply-strategy.ts'
import { lastAppliedAnnotation } from './merge.ts'

/**
 * The creations of this process that are under way, by identity. All parents write with one manager: of two that create
 * an object of one name at the same time, the second must read what the first created.
 */
const creations = new Map<string, Promise<unknown>>()

/** Applies the children of one parent. */
export class ChildApplier {
  readonly #client: Client
  readonly #parent: KubeObject
  readonly #strategy: ServerSideApply

  constructor(client: Client, parent: KubeObject, strategy: ServerSideApply) {
    this.#client = client.with({ manager: strategy.applyManager, force: true })
    this.#parent = parent
    this.#strategy = strategy
  }

  /** Creates a child. Throws CollisionError for an object of that name that is no child of the parent. */
  async create(configuration: KubeObject): Promise<KubeObject> {
    const name = formatIdentity(identityOf(configuration))
    while (creations.has(name)) await creations.get(name)?.catch(() => undefined)
    const creation = this.#client.apply(configuration, { isOurs: (live) => this.#owns(live) })
    creations.set(name, creation)
    try {
      const after = await creation
      this.#strategy.remember(after, configuration)
      return after
    } finally {
      if (creations.get(name) === creation) creations.delete(name)
    }
  }

  /** Applies the configuration of a child that exists; one of the other strategy becomes one of this strategy first. */
  async update(before: KubeObject, configuration: KubeObject): Promise<KubeObject> {
    const current = needsUpgrade(before) ? await this.#upgrade(before) : before
    const { uid } = before.metadata
    const object = { ...configuration, metadata: { ...configuration.metadata, uid } }
    const { object: after } = await this.#client.applyRaw(object)
    this.#strategy.remember(after, configuration)
    return after.metadata.resourceVersion === current.metadata.resourceVersion ? current : after
  }

  /**
   * Returns whether applying a configuration would leave a child as it is. Throws StatusError for a configuration that
   * the server would refuse for a new child, too.
   */
  async isUnchanged(observed: KubeObject, configuration: KubeObject): Promise<boolean> {
    const { uid } = observed.metadata
    const object = { ...configuration, metadata: { ...configuration.metadata, uid } }
    try {
      const { object: after } = await this.#client.applyRaw(object, { dryRun: true })
      if (!jsonEqual(unrecordedContentOf(after), unrecordedContentOf(observed))) return false
      this.#strategy.remember(observed, configuration)
      return true
    } catch (error) {
      // A field that cannot be changed: the reason to recreate a child.
      if (!isInvalid(error)) throw error
      await checkSuccessor(this.#client, configuration)
      return false
    }
  }

  async #upgrade(child: KubeObject): Promise<KubeObject> {
    const { uid = null, resourceVersion = null, annotations = {} } = child.metadata
    const fields: readonly ManagedFieldsEntry[] = upgradedFields(
      child,
      this.#strategy.applyManager,
      formatTime(this.#client.clock.now()),
    )
    const metadata = {
      uid,
      resourceVersion,
      managedFields: fields as unknown as JsonObject[],
      ...(annotations[lastAppliedAnnotation] === undefined ? {} : { annotations: { [lastAppliedAnnotation]: null } }),
    }
    return this.#client.patch(child, keyOf(child), { merge: { metadata } })
  }

  #owns({ metadata: { ownerReferences = [] } }: KubeObject): boolean {
    return ownerReferences.some(({ uid }) => uid === this.#parent.metadata.uid)
  }
}
