// The objects as their status was last written, until the cache has caught up: a status that is compared with an older
// object would count as written already, and what a user reads would stay wrong.
import type { KubeObject } from '@fairlead/kube'

/** Responses to status writes by key, as long as they are newer than the cache. */
export class WrittenObjects {
  readonly #written = new Map<string, KubeObject>()

  /** Number of objects that the cache has not caught up with. */
  get size(): number {
    return this.#written.size
  }

  /** Records the response to a write; `cached` is the object in the cache at that time. */
  wrote(key: string, response: KubeObject, cached: KubeObject | undefined): void {
    if (cached === undefined || isBehind(cached, response)) this.#written.set(key, response)
  }

  /** Returns the newer one of the cached object and the last response to a write. */
  newest(key: string, cached: KubeObject): KubeObject {
    const written = this.#written.get(key)
    return written !== undefined && isBehind(cached, written) ? written : cached
  }

  /** Records that the cache has changed; `cached` is undefined when the object was deleted. */
  observed(key: string, cached: KubeObject | undefined): void {
    const written = this.#written.get(key)
    if (written !== undefined && (cached === undefined || !isBehind(cached, written))) this.#written.delete(key)
  }
}

/** Reports whether the cached object is an older version of the written one; another object of that name is not. */
function isBehind(cached: KubeObject, written: KubeObject): boolean {
  return (
    cached.metadata.uid === written.metadata.uid &&
    // Increasing numbers within one server (guaranteed since Kubernetes 1.35).
    Number(cached.metadata.resourceVersion) < Number(written.metadata.resourceVersion)
  )
}
