// The port of resolution on the cluster side: caches and the reference index.
import type { Informer } from '@fairlead/controller'
import type { ObjectKey } from '@fairlead/kube'
import { isGranted } from '../engine/grants.ts'
import type { ObjectId } from '../engine/object-id.ts'
import type { ReferenceIndex } from '../engine/reference-index.ts'
import type { ReferentKind } from '../engine/reference-table.ts'
import type { Lookup, ObjectCycle, Permission, Referents } from '../engine/referents.ts'
import type { ReferenceGrantObject } from './kinds.ts'

/** Returns the object of a cache; anything but Synced is unknown (design decision 7). */
export function lookUp(informer: Informer, key: ObjectKey): Lookup {
  const cache = informer.read()
  if (!cache.known) return { state: 'unknown', message: `cannot be read: ${cache.reason.message}` }
  const object = cache.objects.get(key)
  return object === undefined ? { state: 'absent' } : { state: 'found', object }
}

/** Reads referents of one kind from its cache. */
export class CachedReferents implements Referents {
  readonly #source: Informer
  readonly #grants: Informer<ReferenceGrantObject>
  readonly #index: ReferenceIndex

  constructor(source: Informer, grants: Informer<ReferenceGrantObject>, index: ReferenceIndex) {
    this.#source = source
    this.#grants = grants
    this.#index = index
  }

  read(_: ReferentKind, namespace: string, name: string): Lookup {
    return lookUp(this.#source, { namespace, name })
  }

  permission(from: ObjectId, to: ObjectId): Permission {
    const grants = this.#grants.read()
    if (!grants.known) return 'unknown'
    return isGranted(grants.objects.list({ namespace: to.namespace }), from, to) ? 'granted' : 'denied'
  }

  cycle(from: ObjectId, to: ObjectId): ObjectCycle | undefined {
    return this.#index.cycle(from, to)
  }
}
