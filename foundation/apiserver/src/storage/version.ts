// Versions of objects: what a store keeps under a key, newest first.
import type { JsonObject } from '@fairlead/kube'
import type { Change, Entry } from './store.ts'

/** One version. The chain of `older` ones ends where the store has forgotten. */
export interface Version {
  readonly entry: Entry
  readonly deleted: boolean
  /** When it was written, milliseconds since the epoch. */
  readonly at: number
  older: Version | undefined
  /** What listeners are told; kept while the change can be replayed. */
  change: Change | undefined
}

/** An entry whose object is read from the journal's text when first looked at. */
export class StoredEntry implements Entry {
  readonly resource: string
  readonly key: string
  readonly revision: number
  #read: (() => JsonObject) | undefined
  #object: JsonObject | undefined

  constructor(resource: string, key: string, revision: number, read: () => JsonObject) {
    this.resource = resource
    this.key = key
    this.revision = revision
    this.#read = read
  }

  get object(): JsonObject {
    if (this.#read !== undefined) {
      this.#object = this.#read()
      this.#read = undefined
    }
    return this.#object!
  }
}

/** The version that was newest at `revision`, a delete too; undefined when the key did not exist yet. */
export function versionAt(newest: Version | undefined, revision: number): Version | undefined {
  let version = newest
  while (version !== undefined && version.entry.revision > revision) version = version.older
  return version
}
