// The objects of some files, indexed once by kind, key and namespace.
import type { KubeObject } from '@fairlead/kube'
import { formatKey, keyOf } from '@fairlead/kube'

/** A kind in one version. */
export interface KindName {
  readonly apiVersion: string
  readonly kind: string
}

interface ObjectsOfKind {
  readonly byKey: Map<string, KubeObject>
  readonly byNamespace: Map<string, KubeObject[]>
}

/** Finds objects by kind and key. Of two objects with one kind and key the first is kept. */
export class ObjectIndex {
  readonly #kinds = new Map<string, ObjectsOfKind>()

  constructor(objects: Iterable<KubeObject>) {
    for (const object of objects) this.#add(object)
  }

  /** Returns the object of a key (`namespace/name`, or `name`). */
  get(kind: KindName, key: string): KubeObject | undefined {
    return this.#kinds.get(idOf(kind))?.byKey.get(key)
  }

  /** Lists the objects of a kind in the order of the files: of a namespace, of all when it is undefined. */
  list(kind: KindName, namespace?: string): Iterable<KubeObject> {
    const found = this.#kinds.get(idOf(kind))
    return (namespace === undefined ? found?.byKey.values() : found?.byNamespace.get(namespace)) ?? []
  }

  #add(object: KubeObject): void {
    const id = idOf(object)
    let ofKind = this.#kinds.get(id)
    if (ofKind === undefined) this.#kinds.set(id, (ofKind = { byKey: new Map(), byNamespace: new Map() }))
    const key = formatKey(keyOf(object))
    if (ofKind.byKey.has(key)) return
    ofKind.byKey.set(key, object)
    const { namespace = '' } = object.metadata
    const inNamespace = ofKind.byNamespace.get(namespace)
    if (inNamespace === undefined) ofKind.byNamespace.set(namespace, [object])
    else inNamespace.push(object)
  }
}

function idOf({ apiVersion, kind }: KindName): string {
  return `${apiVersion}/${kind}`
}
