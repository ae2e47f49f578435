// The watch state machine: reports every change in a scope to a listener, through all failures of networks and servers.
// Start with Reflector.run; the states are the union below, the transitions the three `#from…` methods.
import { StatusError, isExpired, isForbidden } from '@fairlead/kube'
import type { Clock, KubeObject } from '@fairlead/kube'
import { isKindNotServed } from '../response.ts'
import { Backoff } from '../backoff.ts'
import { ClientError } from '../client-error.ts'
import { chunkSize, yieldToEventLoop } from '../event-loop.ts'
import { keepAlive } from '../system-clock.ts'
import type { WatchEvent } from '../transport.ts'
import { IdleGuard } from './idle-guard.ts'
import { errorOfEvent } from './list-watch.ts'
import type { ListPage } from '../options.ts'
import type { ListWatch } from './list-watch.ts'
import type { InterruptionReason, ReflectorEvent } from './reflector-event.ts'

/** The state of a reflector. */
export type ReflectorState =
  /** Nothing is known, or it has expired: the whole scope must be listed. */
  | { readonly name: 'Empty' }
  /** Pages are being read; those before `next` have been reported as `listed`. */
  | { readonly name: 'Listing'; readonly next: string | undefined; readonly limit: number }
  /** Everything up to `resourceVersion` has been reported; the watch continues from there. */
  | { readonly name: 'Watching'; readonly resourceVersion: string }

/** Options of a reflector. */
export interface ReflectorOptions<T extends KubeObject> {
  readonly source: ListWatch<T>
  readonly listener: (event: ReflectorEvent<T>) => void
  readonly clock: Clock
  readonly random: () => number
  /** Objects per page; 500 when left out (as client-go), 0 for all at once. */
  readonly pageSize?: number
  /** Request streaming lists and fall back to pages when the server does not support them. */
  readonly streaming?: boolean
}

/** A watch is ended by the server after 290 s (as kube-rs asks), plus up to a quarter so that watches spread out. */
const watchSeconds = 290
/** A watch that ended sooner than this without an event counts as failed: wait before the next. Milliseconds. */
const shortWatch = 1000
/** After so many broken streaming lists, fall back to pages, which are smaller. */
const streamAttempts = 2
/**
 * A streaming list that is idle for so long is none: old servers ignore the request for it. Milliseconds.
 */
const streamSilence = 10_000
/** A list or watch that has no response after so long is reported as an interruption. Milliseconds. */
const responsePatience = 5_000
/** A watch that has no response after so long, and the {@link IdleGuard}'s grace, is sent again. Milliseconds. */
const openingLimit = 20_000
/** Waits between failed attempts, milliseconds (client-go: 0.8 s to 30 s). */
const retryWaits = { base: 800, cap: 30_000, jitter: 1 }
/** Waits while the kind is absent or forbidden: a user has to act first; `wake()` ends the wait. */
const blockedWaits = { base: 2000, cap: 15_000, jitter: 0.5 }
/** Status codes of a refused watch that do not invalidate its revision. */
const passing: ReadonlySet<number> = new Set([401, 403, 429, 503])

/** Lists and watches one scope. */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>
  readonly #retries: Backoff
  readonly #blocked: Backoff
  #state: ReflectorState = { name: 'Empty' }
  #streaming: boolean
  /** Streaming lists that broke before they were complete. */
  #brokenStreams = 0
  #interrupted = false
  #wakers: (() => void)[] = []

  /** Sends no request before `run`. */
  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#streaming = options.streaming ?? false
    this.#retries = new Backoff({ ...retryWaits, random: options.random })
    this.#blocked = new Backoff({ ...blockedWaits, random: options.random })
  }

  /** The current state. */
  get state(): ReflectorState['name'] {
    return this.#state.name
  }

  /** Lists and watches until `signal` aborts; then resolves. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    using _alive = keepAlive()
    while (!signal.aborted) {
      try {
        this.#state = await this.#step(signal)
      } catch (error) {
        if (signal.aborted) return
        await this.#recover(error, signal)
      }
    }
  }

  /**
   * Ends a wait between attempts: the next one may succeed now (a CRD was created, a rule was granted).
   */
  wake(): void {
    for (const waker of this.#wakers.splice(0)) waker()
  }

  #step(signal: AbortSignal): Promise<ReflectorState> {
    const state = this.#state
    switch (state.name) {
      case 'Empty':
        return this.#streaming
          ? this.#streamList(signal)
          : this.#listFrom({ name: 'Listing', next: undefined, limit: this.#options.pageSize ?? 500 }, signal)
      case 'Listing':
        return this.#listFrom(state, signal)
      case 'Watching':
        return this.#watchFrom(state.resourceVersion, signal)
    }
  }

  async #listFrom(state: ReflectorState & { name: 'Listing' }, signal: AbortSignal): Promise<ReflectorState> {
    this.#state = state
    const page = await this.#listPage(state, signal)
    signal.throwIfAborted()
    if (state.next === undefined) this.#options.listener({ type: 'listing' })
    const last = await this.#emitChunks(page.items, signal)
    if (page.next !== undefined) {
      this.#options.listener({ type: 'listed', objects: last })
      return { ...state, next: page.next }
    }
    this.#emitReplaced(last, page.resourceVersion)
    return { name: 'Watching', resourceVersion: page.resourceVersion }
  }

  async #listPage({ limit, next }: ReflectorState & { name: 'Listing' }, signal: AbortSignal): Promise<ListPage<T>> {
    using _late = this.#reportLate()
    return await this.#options.source.list({ limit, continue: next }, signal)
  }

  /** Reports an interruption, unless the response arrives in time: until it does, the copy is out of date. */
  #reportLate(): Disposable {
    return this.#options.clock.timer(responsePatience, () => {
      const message = `there is no response to the list or watch after ${responsePatience / 1000} s`
      this.#interrupted = true
      this.#options.listener({
        type: 'interrupted',
        reason: 'Failed',
        error: new ClientError('ResponseLate', message),
        retryIn: 0,
      })
    })
  }

  /** Emits all but the last chunk as `listed`, yielding to the event loop in between; returns the last chunk. */
  async #emitChunks(objects: readonly T[], signal: AbortSignal): Promise<readonly T[]> {
    let emitted = 0
    for (; objects.length - emitted > chunkSize; emitted += chunkSize) {
      this.#options.listener({ type: 'listed', objects: objects.slice(emitted, emitted + chunkSize) })
      await yieldToEventLoop()
      signal.throwIfAborted()
    }
    return emitted === 0 ? objects : objects.slice(emitted)
  }

  /** WatchList: the state arrives as events, and the same stream continues with the changes. */
  async #streamList(signal: AbortSignal): Promise<ReflectorState> {
    let gathered: T[] = []
    let listed = false
    const emitGathered = (): void => {
      if (gathered.length > 0) this.#options.listener({ type: 'listed', objects: gathered })
      gathered = []
    }
    try {
      this.#options.listener({ type: 'listing' })
      const next = await this.#follow('', true, signal, (event) => {
        if (listed) return this.#emit(event)
        if (event.type === 'BOOKMARK') {
          if (event.object.metadata.annotations?.['k8s.io/initial-events-end'] !== 'true') return undefined
          listed = true
          this.#brokenStreams = 0
          const resourceVersion = event.object.metadata.resourceVersion ?? ''
          this.#emitReplaced(gathered, resourceVersion)
          this.#resume()
          return resourceVersion
        }
        if (event.type === 'DELETED') {
          emitGathered()
          this.#options.listener({ type: 'deleted', object: event.object as T })
        } else if (gathered.push(event.object as T) >= chunkSize) emitGathered()
        return undefined
      })
      // The stream ended or was idle before the state was complete: the server does not support streaming lists.
      if (!listed) this.#streaming = false
      return next
    } catch (error) {
      if (!listed && (refusesStreaming(error) || ++this.#brokenStreams >= streamAttempts)) {
        this.#streaming = false
        if (refusesStreaming(error)) return { name: 'Empty' }
      }
      throw error
    }
  }

  #watchFrom(resourceVersion: string, signal: AbortSignal): Promise<ReflectorState> {
    return this.#follow(resourceVersion, false, signal, (event) => this.#emit(event))
  }

  /** Reads one watch to its end. `take` emits an event and returns the revision that it reached, if any. */
  async #follow(
    from: string,
    initialEvents: boolean,
    signal: AbortSignal,
    take: (event: WatchEvent) => string | undefined,
  ): Promise<ReflectorState> {
    const { clock, random, source } = this.#options
    const timeoutSeconds = Math.round(watchSeconds * (1 + random() / 4))
    const started = clock.monotonic()
    let reached = from
    let received = 0
    using guard = new IdleGuard(clock, initialEvents ? streamSilence : openingLimit, signal)
    using late = this.#reportLate()
    try {
      const events = await source.watch({ resourceVersion: from, timeoutSeconds, initialEvents }, guard.signal)
      if (!initialEvents) {
        late[Symbol.dispose]()
        guard.within(timeoutSeconds * 1000)
        this.#resume()
      }
      for await (const event of events) {
        if (signal.aborted) break
        guard.alive(event.type === 'BOOKMARK')
        if (event.type === 'ERROR') throw errorOfEvent(event)
        received++
        const before = reached
        reached = take(event) ?? reached
        if (before === '' && reached !== '') {
          late[Symbol.dispose]()
          guard.within(timeoutSeconds * 1000)
        }
        if (reached !== '') this.#state = { name: 'Watching', resourceVersion: reached }
      }
    } catch (error) {
      if (!guard.fired || signal.aborted) throw error
    } finally {
      if (clock.monotonic() - started >= shortWatch) this.#retries.reset()
    }
    if (received === 0 && !guard.fired && clock.monotonic() - started < shortWatch)
      await this.#pause(this.#retries.next(), signal)
    return reached === '' ? { name: 'Empty' } : { name: 'Watching', resourceVersion: reached }
  }

  #emitReplaced(objects: readonly T[], resourceVersion: string): void {
    this.#blocked.reset()
    this.#options.listener({ type: 'replaced', objects, resourceVersion })
  }

  #emit(event: WatchEvent): string | undefined {
    const resourceVersion = event.object.metadata.resourceVersion
    this.#retries.reset()
    if (event.type === 'BOOKMARK') this.#options.listener({ type: 'current', resourceVersion: resourceVersion ?? '' })
    else if (event.type === 'DELETED') this.#options.listener({ type: 'deleted', object: event.object as T })
    else this.#options.listener({ type: 'set', object: event.object as T })
    return resourceVersion
  }

  #resume(): void {
    this.#blocked.reset()
    if (!this.#interrupted) return
    this.#interrupted = false
    this.#options.listener({ type: 'resumed' })
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const expired = isExpired(error)
    if (this.#state.name === 'Listing') {
      // A continue token expired: large lists on busy servers only succeed as one page.
      this.#state =
        expired && this.#state.next !== undefined ? { name: 'Listing', next: undefined, limit: 0 } : { name: 'Empty' }
    } else if (this.#state.name === 'Watching' && error instanceof StatusError && !passing.has(error.code)) {
      // The server cannot continue from here (410, a revision from its future, an internal error): list again.
      this.#state = { name: 'Empty' }
    }
    if (expired && this.#retries.failures === 0) {
      // The first 410 in a row is the normal end of an old watch; a second one without an event in between is a
      // failure.
      this.#retries.next()
      return
    }
    const reason = interruptionOf(error)
    const retryIn = reason === 'Failed' ? Math.max(this.#retries.next(), retryAfter(error)) : this.#blocked.next()
    this.#interrupted = true
    this.#options.listener({ type: 'interrupted', reason, error, retryIn })
    await this.#pause(retryIn, signal)
  }

  /** Waits `ms` milliseconds, or until woken. Resolves early when the signal aborts. */
  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer[Symbol.dispose]()
        signal.removeEventListener('abort', end)
        this.#wakers = this.#wakers.filter((waker) => waker !== end)
        resolve()
      }
      const timer = this.#options.clock.timer(ms, end)
      signal.addEventListener('abort', end, { once: true })
      this.#wakers.push(end)
      if (signal.aborted) end()
    })
  }
}

function interruptionOf(error: unknown): InterruptionReason {
  if (isForbidden(error)) return 'Forbidden'
  if (isKindNotServed(error)) return 'Absent'
  return 'Failed'
}

/** Returns the milliseconds of the server's `Retry-After`. */
function retryAfter(error: unknown): number {
  return error instanceof StatusError ? (error.status.details?.retryAfterSeconds ?? 0) * 1000 : 0
}

/**
 * Reports whether an error means that streaming lists are not supported: 422 of an old server, 400 of a proxy, 500 with
 * etcd 3.4.
 */
function refusesStreaming(error: unknown): boolean {
  return error instanceof StatusError && ![401, 403, 404, 429].includes(error.code)
}
