// The cluster from the caches of a running MapController.
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import type { Cluster } from '../engine/cluster.ts'
import type { Group } from '../engine/group.ts'
import type { Identity } from '../engine/identity.ts'
import type { ControllerKinds } from '../engine/kinds.ts'
import type { OutputIndex } from '../engine/output-index.ts'
import { relatedObjects } from '../engine/related.ts'
import type { ObjectsOfKind } from '../engine/request.ts'
import type { OutputKind } from '../engine/resource.ts'
import type { Caches } from './caches.ts'

/** The caches of one MapController. */
export interface LiveClusterOptions {
  readonly controller: MapController
  readonly kinds: ControllerKinds
  readonly caches: Caches
  readonly outputs: OutputIndex
}

/** A {@link Cluster} that reads caches. */
export class LiveCluster implements Cluster {
  readonly controller: MapController
  readonly kinds: ControllerKinds
  readonly #caches: Caches
  readonly #outputs: OutputIndex

  constructor({ controller, kinds, caches, outputs }: LiveClusterOptions) {
    this.controller = controller
    this.kinds = kinds
    this.#caches = caches
    this.#outputs = outputs
  }

  get outputsKnown(): boolean {
    return this.#caches.outputsKnown
  }

  get relatedKnown(): boolean {
    return this.#caches.relatedKnown
  }

  get inputsKnown(): boolean {
    return this.#caches.inputsKnown
  }

  input(kind: number, key: string): KubeObject | undefined {
    return this.#caches.inputs[kind]?.lastKnown.get(key)
  }

  output(kind: OutputKind, { namespace, name }: Identity): KubeObject | undefined {
    return this.#caches.outputs[this.kinds.outputs.indexOf(kind)]?.lastKnown.get({ namespace, name })
  }

  outputsOf({ parent, mapKey }: Group): readonly KubeObject[] {
    return this.#outputs.outputsOf(parent, mapKey)
  }

  orphansOf({ parent, mapKey }: Group): readonly KubeObject[] {
    return this.#outputs.orphansOf(parent, mapKey)
  }

  related(parent: KubeObject): readonly ObjectsOfKind[] {
    const caches = this.#caches
    const reader = {
      get: (rule: number, key: ObjectKey) => caches.related[rule]?.get(key),
      list: (rule: number, namespace: string | undefined) => caches.related[rule]?.list(namespace) ?? [],
      namespaceLabels: (name: string) => caches.namespaceLabels(name),
    }
    return relatedObjects(this.kinds.related, reader, parent)
  }
}
