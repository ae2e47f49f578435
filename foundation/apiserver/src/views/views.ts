// What is served of a stored object: a view per entry, version and schema epoch. Converted, defaulted, with its resourceVersion, frozen, built when
// first read, kept with its JSON bytes, shared by every reader, list and watch (specs/foundation.md §1.2).
import { asJson, asObject, cloneJson, deepFreeze, stringifyJson } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { storedApiVersion } from '../registry/resource.ts'
import type { Draft } from '../registry/strategy.ts'
import type { ServedResource } from '../registry/registry.ts'
import { withResourceVersion } from '../objects/object-form.ts'
import type { Entry } from '../storage/store.ts'

const encoder = new TextEncoder()

/** A served object and its JSON, made when first asked for. */
export class View {
  readonly object: KubeObject
  /** What it was built for; another definition means that the schema has changed since. */
  readonly resource: ServedResource
  #bytes: Uint8Array | undefined

  constructor(object: KubeObject, resource: ServedResource) {
    this.object = object
    this.resource = resource
  }

  /** Compact JSON. */
  get bytes(): Uint8Array {
    this.#bytes ??= encoder.encode(stringifyJson(asJson(this.object)))
    return this.#bytes
  }
}

/** Builds and keeps views. */
export class Views {
  readonly #views = new WeakMap<Entry, Map<string, View>>()

  /** The view of one entry; a promise only where a conversion webhook has to be asked. */
  of(entry: Entry, resource: ServedResource): View | Promise<View> {
    const known = this.#known(entry, resource)
    if (known !== undefined) return known
    const objects = convert([asObject(entry.object)], resource)
    return objects instanceof Promise
      ? objects.then(([object]) => this.#build(entry, object!, resource))
      : this.#build(entry, objects[0]!, resource)
  }

  /** The views of many entries, with one conversion for all that are missing. */
  async all(entries: readonly Entry[], resource: ServedResource): Promise<readonly View[]> {
    const missing = entries.filter((entry) => this.#known(entry, resource) === undefined)
    if (missing.length > 0) {
      const objects = await convert(
        missing.map((entry) => asObject(entry.object)),
        resource,
      )
      for (const [index, entry] of missing.entries()) {
        this.#build(entry, objects[index]!, resource)
        if (index % 500 === 499) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    return entries.map((entry) => this.#known(entry, resource)!)
  }

  #known(entry: Entry, resource: ServedResource): View | undefined {
    const view = this.#views.get(entry)?.get(resource.apiVersion)
    return view?.resource === resource ? view : undefined
  }

  #build(entry: Entry, object: KubeObject, resource: ServedResource): View {
    let versions = this.#views.get(entry)
    if (versions === undefined) this.#views.set(entry, (versions = new Map<string, View>()))
    const existing = versions.get(resource.apiVersion)
    if (existing?.resource === resource) return existing
    const view = new View(servedForm(object, entry.revision, resource), resource)
    versions.set(resource.apiVersion, view)
    return view
  }
}

/** The served form of one object outside the store (answers to dry runs); `revision` 0 leaves resourceVersion out. */
export function servedForm(object: KubeObject, revision: number, resource: ServedResource): KubeObject {
  let out = asJson(object)
  const { strategy, crd } = resource.definition
  if (crd !== undefined && strategy.applyDefaults !== undefined) {
    const draft = cloneJson(out) as Draft
    strategy.applyDefaults(draft)
    out = draft
  }
  return asObject(
    deepFreeze(
      revision === 0 ? out : withResourceVersion(out, String(revision), resource.definition.crd !== undefined),
    ) as JsonObject,
  )
}

/** Objects in the version of `resource`; the same list where nothing has to be done. */
export function convert(
  objects: readonly KubeObject[],
  { definition, apiVersion }: ServedResource,
): readonly KubeObject[] | Promise<readonly KubeObject[]> {
  if (objects.every((object) => object.apiVersion === apiVersion)) return objects
  if (definition.convert !== undefined) return definition.convert(objects, apiVersion)
  return objects.map((object) => ({ ...object, apiVersion }))
}

/** Objects in the version that is stored. */
export function convertToStored(
  objects: readonly KubeObject[],
  { definition }: ServedResource,
): readonly KubeObject[] | Promise<readonly KubeObject[]> {
  const apiVersion = storedApiVersion(definition)
  if (objects.every((object) => object.apiVersion === apiVersion)) return objects
  if (definition.convert !== undefined) return definition.convert(objects, apiVersion)
  return objects.map((object) => ({ ...object, apiVersion }))
}
