// Reads shared caches with the rights of another subject: the caches contain what the process may read, which may be
// more.
import { toKey, toKind } from '@fairlead/client'
import type { Client, KeyLike, KindLike } from '@fairlead/client'
import { forbidden } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { InformerState } from '../informer/informer.ts'
import type { ObjectFilter } from '../informer/object-cache.ts'
import type { Reader } from '../work/reader.ts'
import { accessText } from './access-reviews.ts'
import type { AccessReviews, ResourceAccess, AccessSubject } from './access-reviews.ts'

/**
 * A {@link Reader} that reviews before each read whether the subject may `get` the object or `list` the scope. Throws
 * StatusError 403 with Kubernetes' message where it may not, and every error of the underlying reader.
 */
export class ReaderOnBehalf implements Reader {
  readonly #reader: Reader
  readonly #subject: AccessSubject
  readonly #client: Client
  readonly #reviews: AccessReviews

  constructor(reader: Reader, subject: AccessSubject, client: Client, reviews: AccessReviews) {
    this.#reader = reader
    this.#subject = subject
    this.#client = client
    this.#reviews = reviews
  }

  async get<T extends KubeObject>(kind: KindLike<T>, keyLike: KeyLike): Promise<T | undefined> {
    const { namespace, name } = toKey(keyLike)
    await this.#check(kind, { verb: 'get', namespace: namespace || undefined, name })
    return this.#reader.get(kind, keyLike)
  }

  async list<T extends KubeObject>(kind: KindLike<T>, filter: ObjectFilter = {}): Promise<readonly T[]> {
    await this.#check(kind, { verb: 'list', namespace: filter.namespace })
    return this.#reader.list(kind, filter)
  }

  state(kind: KindLike): Promise<InformerState> {
    return this.#reader.state(kind)
  }

  async #check(like: KindLike, wanted: Pick<ResourceAccess, 'verb' | 'namespace' | 'name'>): Promise<void> {
    const { group } = toKind(like)
    const { plural, version } = await this.#client.discovery.resource(like)
    const access = { ...wanted, group, version, resource: plural }
    const { allowed, reason } = await this.#reviews.check(this.#subject, access)
    if (allowed) return
    const detail = accessText(access, this.#subject)
    throw forbidden({ group, plural }, wanted.name ?? '', reason === '' ? detail : `${detail}: ${reason}`)
  }
}
