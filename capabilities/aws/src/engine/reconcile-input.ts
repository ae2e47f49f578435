// Input and outcome of a reconcile: one object, its facts, and the ports to everything else.
import type { KubeObject } from '@fairlead/kube'
import type { DependentState, ObjectId, Referents } from '@fairlead/references'
import type { AwsError } from './aws-error.ts'
import type { LateFields } from './late-initialize.ts'
import type { Annotations } from './policies.ts'
import type { ResourceKind } from './resource-kind.ts'
import type { ResourceManager } from './resource-manager.ts'
import type { ResourceStatus } from './resource-status.ts'

/** The port to the object itself. */
export interface ObjectStore {
  /** Adds the finalizer: from now on the resource may exist. */
  hold(): Promise<void>
  /** Removes the finalizer: the resource does not exist, or is left alone. */
  release(): Promise<void>
  /** Writes the status. Called before a creation, so that its keys survive a crash. */
  record(status: ResourceStatus): Promise<void>
  annotate(annotations: Readonly<Record<string, string>>): Promise<void>
  /**
   * Writes fields that the spec lacks; one that another client set meanwhile stays as it is. Returns why the server
   * refused them, undefined when it did not.
   */
  fill(fields: LateFields): Promise<string | undefined>
}

/** Settings of all objects of a process. */
export interface Settings {
  readonly deletionPolicy: 'delete' | 'retain'
  /** Milliseconds until a resource in the wanted state is read again. */
  readonly resync: number
  readonly region: string
  /** Set when values that the service filled in are copied into the spec; false when left out. */
  readonly lateInitialize?: boolean
  /** Tags of every created resource. */
  readonly tags: Readonly<Record<string, string>>
}

/** One reconcile. */
export interface ReconcileInput {
  readonly id: ObjectId
  readonly object: KubeObject
  readonly kind: ResourceKind
  readonly finalizer: string
  readonly settings: Settings
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly manager: ResourceManager
  readonly referents: Referents
  readonly store: ObjectStore
  /** Annotations of its namespace; none when left out. */
  readonly namespaceAnnotations?: Annotations
  /** Returns the objects that refer to this one. */
  dependents(): readonly DependentState[]
  /** Returns the other objects that manage a resource, or that it was created for; none when left out. */
  holders?(arn: string, creator: string | undefined): readonly ObjectId[]
  /**
   * Claims a resource for this object, or returns the other object that has it; `creator` is the UID of the object that
   * it was created for. Always claimed when left out.
   */
  claim?(arn: string, creator: string | undefined): ObjectId | undefined
}

/** Outcome of a reconcile. */
export interface Outcome {
  /** The status to write; undefined when the object was deleted or is not ours. */
  readonly status?: ResourceStatus
  /** Milliseconds until the next run; undefined when only an event is awaited. */
  readonly requeueAfter?: number
  /** A failed call that is tried again with growing pauses. */
  readonly failure?: { readonly error: AwsError }
}
