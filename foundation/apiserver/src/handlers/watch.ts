// Watches: from a revision, from now with the current objects, or as a streaming list. Each watch has a bounded queue;
// a client that falls behind receives 410.
import { asJson, asObject, failure, StatusError, stringifyJson, unknownError } from '@fairlead/kube'
import type { KubeObject, Status } from '@fairlead/kube'
import type { ServedEvent } from '../http/message.ts'
import type { ListOptions } from '../request/list-options.ts'
import type { Transform } from '../http/media-type.ts'
import { parseResourceVersion, resourceVersionSyntax } from '../request/query.ts'
import type { Selection } from '../request/selection.ts'
import { resourceName } from '@fairlead/builtin-kinds'
import type { ServedResource } from '../registry/registry.ts'
import { StoreError } from '../storage/store.ts'
import type { Change, Entry, Page } from '../storage/store.ts'
import { includeObjectOf, partialMetadata, tableOf } from '../views/transforms.ts'
import type { TableOptions } from '../views/transforms.ts'
import type { View } from '../views/views.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'

/** Queued changes for a slow client. */
const maxQueuedChanges = 10_000
/** The interval of bookmarks, for clients that requested them. */
const bookmarkIntervalMs = 60_000
/** The last bookmark is sent this long before the end, so that the next watch resumes from close by. */
const lastBookmarkMs = 2_000
/** Watches without a timeout end after 30 to 60 minutes, so that load spreads. */
const minWatchMs = 1_800_000

/** One change as a watcher sees it. Computed once, and shared with the other watchers. */
interface Step {
  readonly type: ServedEvent['type']
  readonly entry: Entry
}

/**
 * Opens a watch. The events end with the signal of the request, its timeout, or an ERROR event.
 * @throws StatusError 400, 500 before it begins
 */
export async function openWatch(
  server: ServerDependencies,
  scope: RequestScope,
  options: ListOptions,
  selection: Selection,
  transform: Transform | undefined,
): Promise<AsyncIterable<readonly ServedEvent[]>> {
  const { store } = server
  const since = options.resourceVersion === '' ? 0 : parseResourceVersion(options.resourceVersion)
  if (since === undefined) throw unknownError(resourceVersionSyntax(options.resourceVersion))
  const shape = eventShape(server, scope, transform)
  const feed = new Feed(server, scope, options)
  const includesExisting = options.sendInitialEvents ?? since === 0
  if (!includesExisting) {
    feed.subscribe(since === 0 ? store.revision : since)
    return events(feed, scope.resource, selection, shape, undefined, options)
  }
  const { signal } = scope
  const { labels, fields } = options
  const initial = await store.list(
    resourceName(scope.resource.definition),
    { prefix: feed.prefix },
    { signal, labels, fields },
  )
  feed.subscribe(initial.revision)
  return events(feed, scope.resource, selection, shape, initial, options)
}

/** The queued changes of one watch. */
class Feed {
  readonly server: ServerDependencies
  readonly scope: RequestScope
  readonly prefix: string
  refusal: Status | undefined
  #queue: Change[] = []
  readonly #resources = new DisposableStack()
  #wake: (() => void) | undefined
  #ended = false
  #bookmarkDue = false

  constructor(server: ServerDependencies, scope: RequestScope, options: ListOptions) {
    this.server = server
    this.scope = scope
    this.prefix = scope.namespace === '' ? '' : `${scope.namespace}/`
    const { clock, random } = server
    const timeout =
      options.timeoutSeconds === undefined || options.timeoutSeconds <= 0
        ? minWatchMs * (1 + random())
        : options.timeoutSeconds * 1000
    this.#resources.use(clock.timer(timeout, () => this.end()))
    if (options.allowWatchBookmarks) this.#armBookmark(firstBookmarkMs(timeout))
    const end = (): void => this.end()
    scope.signal.addEventListener('abort', end, { once: true })
    this.#resources.defer(() => scope.signal.removeEventListener('abort', end))
    if (scope.signal.aborted) this.end()
  }

  subscribe(since: number): void {
    const { store } = this.server
    if (this.#ended) return
    try {
      this.#resources.use(
        store.watch(resourceName(this.scope.resource.definition), since, (change) => this.#push(change)),
      )
    } catch (error) {
      if (!(error instanceof StoreError) || (error.code !== 'RevisionExpired' && error.code !== 'RevisionInFuture'))
        throw error
      if (error.code === 'RevisionInFuture') return
      this.#fail(expiredStatus(`too old resource version: ${since} (${error.oldest ?? store.revision})`))
    }
  }

  end(): void {
    this.#ended = true
    this.#resources.dispose()
    this.#wake?.()
  }

  /**
   * Returns the next changes to send, the revision of a bookmark (nothing before it is missing), or undefined at the
   * end.
   */
  async next(): Promise<readonly Change[] | number | undefined> {
    for (;;) {
      const changes = this.#queue
      if (changes.length > 0 && !this.scope.signal.aborted) {
        this.#queue = []
        return changes
      }
      if (this.#ended) return undefined
      if (this.#bookmarkDue) {
        this.#bookmarkDue = false
        this.#armBookmark(bookmarkIntervalMs)
        return this.server.store.revision
      }
      await new Promise<void>((resolve) => (this.#wake = resolve))
      this.#wake = undefined
    }
  }

  #push(change: Change): void {
    if (this.#ended || !change.entry.key.startsWith(this.prefix)) return
    if (this.#queue.length >= maxQueuedChanges) {
      this.#queue = []
      this.#fail(expiredStatus('the watch fell too far behind the changes'))
      return
    }
    this.#queue.push(change)
    this.#wake?.()
  }

  #fail(status: Status): void {
    this.refusal = status
    this.end()
  }

  #armBookmark(ms: number): void {
    this.#resources.use(
      this.server.clock.timer(ms, () => {
        this.#bookmarkDue = true
        this.#wake?.()
      }),
    )
  }
}

function firstBookmarkMs(timeout: number): number {
  const beforeEnd = timeout - lastBookmarkMs
  return beforeEnd > 0 ? Math.min(bookmarkIntervalMs, beforeEnd) : bookmarkIntervalMs
}

async function* events(
  feed: Feed,
  resource: ServedResource,
  selection: Selection,
  shape: EventShape,
  initial: Page | undefined,
  options: ListOptions,
): AsyncGenerator<readonly ServedEvent[]> {
  const { views } = feed.server
  // Events to send before waiting for more.
  let ready: ServedEvent[] = []
  try {
    if (initial !== undefined) {
      for (const view of await views.all(initial.entries, resource)) {
        if (selection.matches(view.object)) yield [shape.event('ADDED', view, true)]
      }
      if (options.sendInitialEvents && options.allowWatchBookmarks) yield [shape.bookmark(initial.revision, true)]
    }
    for (;;) {
      const next = await feed.next()
      if (next === undefined) break
      if (typeof next === 'number') {
        yield [shape.bookmark(next, false)]
        continue
      }
      for (const change of next) {
        // Awaiting a value that is ready would cost every watcher of a busy resource two microtasks per change.
        const step = selection.isEverything
          ? plainStep(change)
          : await selectedStep(change, selection, resource, feed.server)
        if (step === undefined) continue
        const view = views.of(step.entry, resource)
        ready.push(shape.event(step.type, view instanceof Promise ? await view : view))
      }
      if (ready.length === 0) continue
      yield ready
      ready = []
    }
    if (feed.refusal !== undefined) yield [{ type: 'ERROR', object: feed.refusal as unknown as KubeObject }]
  } catch (error) {
    // A conversion webhook failed: the client cannot receive this change, and must not receive later ones.
    if (!(error instanceof StatusError)) throw error
    yield [...ready, { type: 'ERROR', object: error.status as unknown as KubeObject }]
  } finally {
    feed.end()
  }
}

/** Returns the step of a change for a watcher of every object. */
function plainStep({ type, entry, previous }: Change): Step {
  return { type: type === 'delete' ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED', entry }
}

/** Returns the step of a change for a watcher with a selection: entering it is ADDED, leaving it is DELETED. */
async function selectedStep(
  change: Change,
  selection: Selection,
  resource: ServedResource,
  { views }: ServerDependencies,
): Promise<Step | undefined> {
  const { type, entry, previous } = change
  const matches = selection.matches((await views.of(entry, resource)).object)
  if (type === 'delete') return matches ? { type: 'DELETED', entry } : undefined
  const matched = previous !== undefined && selection.matches((await views.of(previous, resource)).object)
  if (matches) return { type: matched ? 'MODIFIED' : 'ADDED', entry }
  // The object as it was last selected, with the revision at which it left the selection.
  return matched ? { type: 'DELETED', entry: { ...entry, object: previous.object } } : undefined
}

interface EventShape {
  /** `initial`: part of the initial state. */
  event(type: ServedEvent['type'], view: View, initial?: boolean): ServedEvent
  bookmark(revision: number, endsInitialEvents: boolean): ServedEvent
}

function eventShape(server: ServerDependencies, scope: RequestScope, transform: Transform | undefined): EventShape {
  const { definition, version, apiVersion } = scope.resource
  const bookmark = (revision: number, endsInitialEvents: boolean): KubeObject => ({
    kind: definition.kind,
    apiVersion,
    metadata: {
      resourceVersion: String(revision),
      ...(endsInitialEvents ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
    },
  })
  if (transform === undefined) {
    return {
      event: (type, view, initial = false) => (initial ? new ViewEvent(type, view, true) : sharedEvent(type, view)),
      bookmark: (revision, ends) => ({ type: 'BOOKMARK', object: bookmark(revision, ends) }),
    }
  }
  if (transform.kind === 'PartialObjectMetadata' || transform.kind === 'PartialObjectMetadataList') {
    return {
      event: (type, view, initial) => ({ type, object: partialMetadata(view.object, transform.version), initial }),
      bookmark: (revision, ends) => ({
        type: 'BOOKMARK',
        object: partialMetadata(bookmark(revision, ends), transform.version),
      }),
    }
  }
  const include = includeObjectOf(scope.query)
  let withColumns = true
  const table = (object: KubeObject): KubeObject => {
    const options: TableOptions = { version: transform.version, include, now: server.clock.now(), withColumns }
    withColumns = false
    return asObject(
      tableOf([object], version.printer, { resourceVersion: object.metadata.resourceVersion ?? '' }, options),
    )
  }
  return {
    event: (type, view, initial) => ({ type, object: table(view.object), initial }),
    bookmark: (revision, ends) => ({ type: 'BOOKMARK', object: table(bookmark(revision, ends)) }),
  }
}

function expiredStatus(message: string): Status {
  return failure(410, 'Expired', message).status
}

const encoder = new TextEncoder()
const newline = encoder.encode('}\n')

/** An event of a stored object, and its JSON line. */
class ViewEvent implements ServedEvent {
  readonly type: ServedEvent['type']
  readonly initial: boolean
  readonly #view: View
  #line: Uint8Array | undefined

  constructor(type: ServedEvent['type'], view: View, initial: boolean) {
    this.type = type
    this.initial = initial
    this.#view = view
  }

  get object(): KubeObject {
    return this.#view.object
  }

  get bytes(): Uint8Array {
    return this.#view.bytes
  }

  get line(): Uint8Array {
    return (this.#line ??= lineOf(this.type, this.bytes))
  }
}

/**
 * Recent events: watchers of one resource receive the same changes shortly after each other. The oldest are evicted
 * first.
 */
const recentEvents = new Map<ServedEvent['type'], Map<View, ViewEvent>>()
const recentLimit = 1000

function sharedEvent(type: ServedEvent['type'], view: View): ViewEvent {
  let events = recentEvents.get(type)
  if (events === undefined) recentEvents.set(type, (events = new Map<View, ViewEvent>()))
  let event = events.get(view)
  if (event === undefined) {
    if (events.size >= recentLimit) events.delete(events.keys().next().value!)
    events.set(view, (event = new ViewEvent(type, view, false)))
  }
  return event
}

/** Encodes one line of a watch in JSON. Watchers of one object share the line. */
export function encodeJsonEvent(event: ServedEvent): Uint8Array {
  if (event instanceof ViewEvent) return event.line
  return lineOf(event.type, event.bytes ?? encoder.encode(stringifyJson(asJson(event.object))))
}

function lineOf(type: ServedEvent['type'], object: Uint8Array): Uint8Array {
  const head = encoder.encode(`{"type":"${type}","object":`)
  const line = new Uint8Array(head.length + object.length + newline.length)
  line.set(head)
  line.set(object, head.length)
  line.set(newline, head.length + object.length)
  return line
}
