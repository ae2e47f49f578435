// Views: the served form of a stored object, one per entry, version and schema epoch. Converted, defaulted, with its
// resourceVersion, frozen, built when first read, shared by every client, list and watch (specs/foundation.md §1.2).
// JSON bytes are kept where many clients share them.
import { asJson, asObject, deepFreeze, stringifyJson } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { storedApiVersion } from '@fairlead/builtin-kinds'
import type { Draft, ResourceDefinition } from '@fairlead/builtin-kinds'
import type { ServedResource } from '../registry/registry.ts'
import { withResourceVersion } from '../objects/object-form.ts'
import type { Entry } from '../storage/store.ts'
import { originRules } from '../objects/origin-rules.ts'

const encoder = new TextEncoder()

/** A served object, and its JSON once it was needed. */
export class View {
  readonly object: KubeObject
  /** The resource that it was built for; another definition means that the schema has changed since. */
  readonly resource: ServedResource
  #bytes: Uint8Array | undefined

  constructor(object: KubeObject, resource: ServedResource) {
    this.object = object
    this.resource = resource
  }

  /** Compact JSON for lists and watches, kept for the next of them. */
  get bytes(): Uint8Array {
    return (this.#bytes ??= encoder.encode(stringifyJson(asJson(this.object))))
  }

  /**
   * The same where a list or watch has made it already: most objects are sent once, in the response of their write, and
   * their bytes would outlive that by far.
   */
  get knownBytes(): Uint8Array | undefined {
    return this.#bytes
  }
}

/** Builds and keeps views. */
export class Views {
  readonly #views = new WeakMap<Entry, readonly View[]>()

  /** Returns the view of one entry; a promise only where a conversion webhook is called. */
  of(entry: Entry, resource: ServedResource): View | Promise<View> {
    const known = this.#known(entry, resource)
    if (known !== undefined) return known
    const objects = fromStored([asObject(entry.object)], resource)
    return objects instanceof Promise
      ? objects.then(([object]) => this.#build(entry, object!, resource))
      : this.#build(entry, objects[0]!, resource)
  }

  /** Returns the views of many entries, with one conversion for all that are missing. */
  async all(entries: readonly Entry[], resource: ServedResource): Promise<readonly View[]> {
    const views = entries.map((entry) => this.#known(entry, resource))
    const missing = entries.filter((_entry, index) => views[index] === undefined)
    if (missing.length === 0) return views as View[]
    const objects = await fromStored(
      missing.map((entry) => asObject(entry.object)),
      resource,
    )
    let built = 0
    for (const [index, entry] of entries.entries()) {
      if (views[index] !== undefined) continue
      views[index] = this.#build(entry, objects[built++]!, resource)
      if (built % 500 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    return views as View[]
  }

  #known(entry: Entry, resource: ServedResource): View | undefined {
    return this.#views.get(entry)?.find((view) => view.resource === resource)
  }

  #build(entry: Entry, object: KubeObject, resource: ServedResource): View {
    const existing = this.#known(entry, resource)
    if (existing !== undefined) return existing
    const isConverted = asObject(entry.object).apiVersion !== resource.apiVersion
    const view = new View(servedForm(object, entry.revision, resource, isConverted), resource)
    const others = this.#views.get(entry)?.filter((other) => other.resource.apiVersion !== resource.apiVersion) ?? []
    this.#views.set(entry, [...others, view])
    return view
  }
}

/**
 * Returns the served form of one object outside the store (responses of dry runs); `revision` 0 leaves resourceVersion
 * out. An object that was stored in another version (`isConverted`) has its defaults from that version.
 */
export function servedForm(
  object: KubeObject,
  revision: number,
  resource: ServedResource,
  isConverted = false,
): KubeObject {
  const out = isConverted ? asJson(object) : asJson(defaulted(object, resource.definition))
  return asObject(
    deepFreeze(
      revision === 0
        ? out
        : withResourceVersion(out, String(revision), originRules(resource.definition).isUnstructured),
    ) as JsonObject,
  )
}

/**
 * Applies the defaults of an unstructured object to a copy of its top level; all below is shared with the stored
 * object.
 */
function defaulted(object: KubeObject, definition: ResourceDefinition): KubeObject {
  const { strategy } = definition
  if (!originRules(definition).isUnstructured || strategy.applyDefaults === undefined) return object
  const draft = { ...asJson(object) } as Draft
  strategy.applyDefaults(draft)
  return asObject(draft)
}

/**
 * Returns stored objects in the version of `resource`: with the defaults of the version that they are stored in,
 * without fields that the version of `resource` does not have. Returns the same list where all are stored in it.
 */
export function fromStored(
  objects: readonly KubeObject[],
  resource: ServedResource,
): readonly KubeObject[] | Promise<readonly KubeObject[]> {
  const { definition, apiVersion } = resource
  if (objects.every((object) => object.apiVersion === apiVersion)) return objects
  const prepared = objects.map((object) =>
    object.apiVersion === apiVersion ? object : defaultedOnce(object, definition),
  )
  return pruned(convert(prepared, resource), definition)
}

const defaultedObjects = new WeakMap<
  KubeObject,
  { readonly definition: ResourceDefinition; readonly object: KubeObject }
>()

/** Returns the same object on every call, so that a conversion webhook is called once. */
function defaultedOnce(object: KubeObject, definition: ResourceDefinition): KubeObject {
  const known = defaultedObjects.get(object)
  if (known?.definition === definition) return known.object
  const made = { definition, object: defaulted(object, definition) }
  defaultedObjects.set(object, made)
  return made.object
}

function pruned(
  objects: readonly KubeObject[] | Promise<readonly KubeObject[]>,
  { strategy }: ResourceDefinition,
): readonly KubeObject[] | Promise<readonly KubeObject[]> {
  const prune = strategy.prune?.bind(strategy)
  if (prune === undefined) return objects
  return objects instanceof Promise ? objects.then((list) => list.map(prune)) : objects.map(prune)
}

/** Returns objects in the version of `resource`; the same list where there is nothing to convert. */
export function convert(
  objects: readonly KubeObject[],
  { definition, apiVersion }: ServedResource,
): readonly KubeObject[] | Promise<readonly KubeObject[]> {
  if (objects.every((object) => object.apiVersion === apiVersion)) return objects
  if (definition.convert !== undefined) return definition.convert(objects, apiVersion)
  return objects.map((object) => ({ ...object, apiVersion }))
}

/** Returns objects in the storage version, without fields that it does not have. */
export function convertToStored(
  objects: readonly KubeObject[],
  { definition }: ServedResource,
): readonly KubeObject[] | Promise<readonly KubeObject[]> {
  const apiVersion = storedApiVersion(definition)
  if (objects.every((object) => object.apiVersion === apiVersion)) return objects
  const converted = definition.convert?.(objects, apiVersion) ?? objects.map((object) => ({ ...object, apiVersion }))
  return pruned(converted, definition)
}
