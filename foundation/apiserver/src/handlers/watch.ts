// Watches: from a revision, from now with the current objects, or as a streaming list. Each watch has a bounded queue;
// a client that falls behind receives 410.
import { yieldIfLong } from '@fairlead/client'
import { asObject, StatusError, unknownError } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { ServedEvent } from '../http/message.ts'
import type { ListOptions } from '../request/list-options.ts'
import type { Transform } from '../http/media-type.ts'
import { parseResourceVersion, resourceVersionSyntax } from '../request/query.ts'
import type { Selection } from '../request/selection.ts'
import { resourceName } from '@fairlead/builtin-kinds'
import type { ServedResource } from '../registry/registry.ts'
import type { Change, Entry, Page } from '../storage/store.ts'
import { includeObjectOf, partialMetadata, tableOf } from '../views/transforms.ts'
import type { TableOptions } from '../views/transforms.ts'
import type { View } from '../views/views.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { sharedEvent, ViewEvent } from './watch-event.ts'
import { WatchFeed } from './watch-feed.ts'

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
  const feed = new WatchFeed(server, scope, options)
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

async function* events(
  feed: WatchFeed,
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
        // Watches that are opened together would send all their objects in one turn of the event loop.
        await yieldIfLong()
        if (feed.scope.signal.aborted) return
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
