// Looks up objects among the manifests of a command.
import { formatKey, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { KindCatalog, UnknownKindError, pluralOf } from '@fairlead/offline'
import type { Blueprint, ClusterHealthRule, Owner, Template } from '../api.ts'
import { apiVersion } from '../api.ts'

/** The objects of carto.run that commands look up by kind. */
type CartoObject = Blueprint | ClusterHealthRule | Owner | Template

type Type = Pick<KubeObject, 'apiVersion' | 'kind'>

/** Indexes manifests by type and by key; shared by the owners that one command renders. */
export class ManifestIndex {
  readonly #byType: ReadonlyMap<string, readonly KubeObject[]>
  readonly #byKey = new Map<string, KubeObject>()
  readonly #kinds: KindCatalog
  readonly #objects: readonly KubeObject[]

  /** Of two manifests of one object the first counts. */
  constructor(objects: readonly KubeObject[]) {
    this.#byType = Map.groupBy(objects, formatType)
    for (const object of objects.toReversed()) this.#byKey.set(idOf(object), object)
    this.#kinds = new KindCatalog(objects)
    this.#objects = objects
  }

  /** Returns the manifests of a type, in their order. */
  list(type: Type): readonly KubeObject[] {
    return this.#byType.get(formatType(type)) ?? []
  }

  /** Returns the manifests of a kind of carto.run, in their order. */
  own<T extends CartoObject>(kind: string): readonly T[] {
    return this.list({ apiVersion, kind }).filter((object): object is T => object.kind === kind)
  }

  /** Returns the manifest of the object with the type, namespace and name of `like`. */
  get(like: KubeObject): KubeObject | undefined {
    return this.#byKey.get(idOf(like))
  }

  /** Returns the first manifest with these labels. */
  labelled(labels: Readonly<Record<string, string>>): KubeObject | undefined {
    const wanted = Object.entries(labels)
    return this.#objects.find(({ metadata }) => wanted.every(([key, value]) => metadata.labels?.[key] === value))
  }

  /** Returns the plural of a type; guessed when neither Kubernetes nor a CRD among the manifests defines it. */
  pluralOf(type: Type): string {
    try {
      return this.#kinds.byKind(type).plural
    } catch (error) {
      if (error instanceof UnknownKindError) return pluralOf(type.kind)
      throw error
    }
  }
}

function formatType({ apiVersion: version, kind }: Type): string {
  return `${version}/${kind}`
}

function idOf(object: KubeObject): string {
  return `${formatType(object)}/${formatKey(keyOf(object))}`
}
