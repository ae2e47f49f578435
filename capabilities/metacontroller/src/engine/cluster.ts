// The cluster as the engine sees it: what a decision about a group reads on its way. The controller reads caches
// (runtime/live-cluster.ts), the commands read files (offline/file-cluster.ts).
import type { KubeObject } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import type { Group } from './group.ts'
import type { Identity } from './identity.ts'
import type { ControllerKinds } from './kinds.ts'
import type { ObjectsOfKind } from './request.ts'
import type { OutputKind } from './resource.ts'

/** The objects of one MapController's kinds. Kinds are positions in the spec. */
export interface Cluster {
  readonly controller: MapController
  readonly kinds: ControllerKinds
  /** Every output kind has been listed and is being watched. */
  readonly outputsKnown: boolean
  /** Every related kind has been listed and is being watched. */
  readonly relatedKnown: boolean
  /** Every input kind has been listed and is being watched: an input that is missing is deleted (Q23). */
  readonly inputsKnown: boolean
  /** Returns an object of an input kind by its key (`namespace/name`, or `name`). */
  input(kind: number, key: string): KubeObject | undefined
  /** Returns the object that has the name of an output, owned or foreign; finds name collisions. */
  output(kind: OutputKind, identity: Identity): KubeObject | undefined
  /** Returns the outputs of a group, of all kinds. */
  outputsOf(group: Group): readonly KubeObject[]
  /** Returns the orphans that name the group's parent and its map key. */
  orphansOf(group: Group): readonly KubeObject[]
  /** Returns the objects that the rules of relatedResources select for a parent, one entry for each rule. */
  related(parent: KubeObject): readonly ObjectsOfKind[]
}
