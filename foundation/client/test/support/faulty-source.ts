// A ListWatch over a small set of objects that loses, delays, closes and expires as it is told.
import { StatusError, forbidden, expired, resourceNotFound, unknownError } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { ClientError } from '@fairlead/client'
import type { ListPage, ListWatch, PageRequest, WatchEvent, WatchRequest } from '@fairlead/client'

export type Fault = 'lost' | 'server-error' | 'forbidden' | 'absent'

interface Stream {
  /** State at the beginning that is still to be sent. */
  initial: WatchEvent[]
  position: number
  /** Where in the log it began. */
  readonly first: number
  /** No event leaves while it hangs. */
  hanging: boolean
  ended: 'no' | 'closed' | 'broken'
  wake: () => void
}

export class FaultySource implements ListWatch<KubeObject> {
  readonly objects = new Map<string, KubeObject>()
  readonly #log: { revision: number; event: WatchEvent }[] = []
  readonly #streams = new Set<Stream>()
  readonly #snapshots = new Map<number, KubeObject[]>()
  #revision = 1000
  #oldest = 1000
  #faults: Fault[] = []
  #delayed = false
  readonly #waiting: (() => void)[] = []
  streamingOffered = true
  /** Sends the state, and never says that it was all. */
  streamingIgnored = false
  lists = 0
  watches = 0

  put(name: string): void {
    const revision = ++this.#revision
    const before = this.objects.get(name)
    const metadata = { name, uid: before?.metadata.uid ?? `uid-${revision}`, resourceVersion: String(revision) }
    const object: KubeObject = Object.freeze({ apiVersion: 'v1', kind: 'Thing', metadata })
    this.objects.set(name, object)
    this.#publish({ type: before === undefined ? 'ADDED' : 'MODIFIED', object })
  }

  remove(name: string): void {
    const before = this.objects.get(name)
    if (before === undefined) return
    const revision = ++this.#revision
    this.objects.delete(name)
    this.#publish({
      type: 'DELETED',
      object: { ...before, metadata: { ...before.metadata, resourceVersion: String(revision) } },
    })
  }

  /** The next requests fail like this, in turn. */
  failNext(...faults: Fault[]): void {
    this.#faults.push(...faults)
  }

  /** Forgets the past: older revisions and tokens are answered with 410. */
  expire(): void {
    this.#oldest = this.#revision
    this.#snapshots.clear()
  }

  end(how: 'closed' | 'broken'): void {
    for (const stream of this.#streams) {
      stream.ended = how
      stream.wake()
    }
  }

  hang(hanging: boolean): void {
    for (const stream of this.#streams) {
      stream.hanging = hanging
      stream.wake()
    }
  }

  heal(): void {
    this.#faults = []
    this.delay(false)
  }

  /** Requests are not answered until this is taken back. */
  delay(delayed: boolean): void {
    this.#delayed = delayed
    if (!delayed) for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Open watches send their last events once more. */
  repeat(events: number): void {
    for (const stream of this.#streams) {
      stream.position = Math.max(stream.first, stream.position - events)
      stream.wake()
    }
  }

  bookmark(): void {
    this.#publish({
      type: 'BOOKMARK',
      object: { apiVersion: 'v1', kind: 'Thing', metadata: { resourceVersion: String(this.#revision) } },
    })
  }

  async list(request: PageRequest, signal?: AbortSignal): Promise<ListPage<KubeObject>> {
    this.lists++
    await this.#answering(signal)
    this.#fail()
    const [revision, from] =
      request.continue === undefined ? [this.#revision, 0] : (JSON.parse(request.continue) as [number, number])
    if (request.continue !== undefined && !this.#snapshots.has(revision))
      throw expired('The provided continue parameter is too old')
    const all = this.#snapshots.get(revision) ?? [...this.objects.values()]
    this.#snapshots.set(revision, all)
    const until = request.limit === 0 ? all.length : from + request.limit
    const next = until < all.length ? JSON.stringify([revision, until]) : undefined
    return { items: all.slice(from, until), resourceVersion: String(revision), next }
  }

  async watch(request: WatchRequest, signal: AbortSignal): Promise<AsyncIterable<WatchEvent>> {
    this.watches++
    await this.#answering(signal)
    this.#fail()
    if (request.initialEvents && !this.streamingOffered)
      throw new StatusError({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        reason: 'Invalid',
        code: 422,
      })
    return this.#stream(request, signal)
  }

  async *#stream(request: WatchRequest, signal: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    const initial = request.initialEvents ? this.#initialEvents() : []
    const from = request.initialEvents ? this.#revision : Number(request.resourceVersion)
    if (from < this.#oldest) {
      yield {
        type: 'ERROR',
        object: expired(`too old resource version: ${from} (${this.#oldest})`).status as unknown as KubeObject,
      }
      return
    }
    const next = this.#log.findIndex((entry) => entry.revision > from)
    const first = next < 0 ? this.#log.length : next
    const stream: Stream = { initial, position: first, first, hanging: false, ended: 'no', wake: () => {} }
    this.#streams.add(stream)
    const abort = (): void => stream.wake()
    signal.addEventListener('abort', abort)
    try {
      while (!signal.aborted) {
        if (stream.ended === 'broken') throw new ClientError('ConnectionFailed', 'the connection broke')
        if (stream.ended === 'closed') return
        const pending = stream.hanging ? undefined : stream.initial.shift()
        if (pending !== undefined) yield pending
        else if (!stream.hanging && stream.position < this.#log.length) yield this.#log[stream.position++]!.event
        else await new Promise<void>((resolve) => (stream.wake = resolve))
      }
      throw signal.reason as Error
    } finally {
      signal.removeEventListener('abort', abort)
      this.#streams.delete(stream)
    }
  }

  #initialEvents(): WatchEvent[] {
    const metadata = { resourceVersion: String(this.#revision), annotations: { 'k8s.io/initial-events-end': 'true' } }
    const added = [...this.objects.values()].map((object): WatchEvent => ({ type: 'ADDED', object }))
    if (this.streamingIgnored) return added
    return [...added, { type: 'BOOKMARK', object: { apiVersion: 'v1', kind: 'Thing', metadata } }]
  }

  #publish(event: WatchEvent): void {
    this.#log.push({ revision: this.#revision, event })
    for (const stream of this.#streams) stream.wake()
  }

  async #answering(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#delayed) return
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
      signal?.addEventListener('abort', () => resolve(), { once: true })
    })
    signal?.throwIfAborted()
  }

  #fail(): void {
    const fault = this.#faults.shift()
    if (fault === 'lost') throw new ClientError('ConnectionFailed', 'no answer')
    if (fault === 'server-error') throw unknownError('etcdserver: leader changed')
    if (fault === 'forbidden') throw forbidden({ group: '', plural: 'things' }, '', 'not allowed')
    if (fault === 'absent') throw resourceNotFound()
  }
}
