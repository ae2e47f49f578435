// Versions of an object: the history of one key, newest first.
import type { JsonObject } from '@fairlead/kube'
import type { Change, Entry } from './store.ts'

/** One version. The chain of `older` ones ends at the oldest readable version. */
export interface Version {
  readonly entry: Entry
  readonly deleted: boolean
  /** Bytes of JSON of the object. */
  readonly bytes: number
  /** Time of the write, milliseconds since the epoch. */
  readonly at: number
  older: Version | undefined
  /** The change for listeners; kept while it can be replayed. */
  change: Change | undefined
}

/** An entry whose object is decoded from the journal on first access. */
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

/** Returns the version that was newest at `revision`, also a delete; undefined when the key did not exist yet. */
export function versionAt(newest: Version | undefined, revision: number): Version | undefined {
  let version = newest
  while (version !== undefined && version.entry.revision > revision) version = version.older
  return version
}
