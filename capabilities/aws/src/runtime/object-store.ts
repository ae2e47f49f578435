// The store port of a reconcile on the cluster side: finalizer, status and annotations of one object.
import type { Client } from '@fairlead/client'
import { appliedFields, kindOfObject } from '@fairlead/client'
import { addFinalizer, hasFinalizer, removeFinalizer } from '@fairlead/controller'
import type { StatusWriter } from '@fairlead/controller'
import { conflict, formatKey, isConflict, isInvalid, isTerminating, keyOf, parseApiVersion } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { withLateFields } from '../engine/late-initialize.ts'
import type { LateFields } from '../engine/late-initialize.ts'
import type { ObjectStore } from '../engine/reconcile-input.ts'
import type { ResourceStatus } from '../engine/resource-status.ts'

/** Field manager of the fields that the service filled in, and of no other. */
export const lateManager = 'fairlead-late-initialize'

/** Options of a {@link ClusterStore}. */
export interface ClusterStoreOptions {
  readonly client: Client
  /** Writes the spec: a client whose writes wake the controller, as those of others do. */
  readonly specClient: Client
  readonly object: KubeObject
  readonly status: StatusWriter
  readonly finalizer: string
  readonly plural: string
  /** Called before the finalizer is added. */
  readonly onHold: () => void
  /** Called after it was removed. */
  readonly onRelease: () => void
}

/** Writes to one object. */
export class ClusterStore implements ObjectStore {
  readonly #options: ClusterStoreOptions

  constructor(options: ClusterStoreOptions) {
    this.#options = options
  }

  async hold(): Promise<void> {
    const { client, object, finalizer, onHold, plural } = this.#options
    onHold()
    if (!hasFinalizer(object, finalizer)) return void (await addFinalizer(client, object, finalizer))
    // The cache may lag behind a release: nothing is created that the deletion of the object would leave.
    const live = await this.#live()
    if (live === undefined || isTerminating(live)) {
      const { group } = parseApiVersion(object.apiVersion)
      throw conflict({ group, plural }, object.metadata.name ?? '', 'it was deleted meanwhile')
    }
    await addFinalizer(client, live, finalizer)
  }

  async release(): Promise<void> {
    const { client, finalizer, onRelease } = this.#options
    // Its status may have been written meanwhile; the list of finalizers must be the newest.
    const live = await this.#live()
    if (live !== undefined) await removeFinalizer(client, live, finalizer)
    onRelease()
  }

  record(status: ResourceStatus): Promise<void> {
    return this.#options.status.apply(status)
  }

  async annotate(annotations: Readonly<Record<string, string>>): Promise<void> {
    const { client, object } = this.#options
    const merge = { metadata: { uid: object.metadata.uid ?? null, annotations } }
    await client.patch(kindOfObject(object), formatKey(keyOf(object)), { merge })
  }

  async fill(fields: LateFields): Promise<string | undefined> {
    const { specClient, object } = this.#options
    const { apiVersion, kind, metadata } = object
    const { name, namespace, uid } = metadata
    // An apply takes back what it leaves out: what was filled in before is a part of it.
    const before = (appliedFields(object, lateManager)?.['spec'] ?? {}) as JsonObject
    const spec = withLateFields(before, fields)
    const configuration = { apiVersion, kind, metadata: { name, namespace, uid }, spec } as unknown as KubeObject
    try {
      await specClient.with({ manager: lateManager }).apply(configuration, { force: false })
    } catch (error) {
      // Another client set the field, or the object was deleted: its event brings the next run.
      if (isConflict(error)) return undefined
      if (isInvalid(error)) return error.message
      throw error
    }
    return undefined
  }

  /** Returns the object as it is now; undefined when it, or this one of its name, does not exist. */
  async #live(): Promise<KubeObject | undefined> {
    const { client, object } = this.#options
    const live = await client.find(kindOfObject(object), formatKey(keyOf(object)))
    return live?.metadata.uid === object.metadata.uid ? live : undefined
  }
}
