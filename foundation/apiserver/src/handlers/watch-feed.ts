// The feed of a watch: a bounded queue of changes between the store and one client, with the timers of bookmarks and of
// the end.
import { resourceName } from '@fairlead/builtin-kinds'
import { DisposableStack, failure, jsonEqual } from '@fairlead/kube'
import type { KubeObject, Status } from '@fairlead/kube'
import type { ListOptions } from '../request/list-options.ts'
import { StoreError } from '../storage/store.ts'
import type { Change } from '../storage/store.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'

/** Queued changes for a slow client. */
const maxQueuedChanges = 10_000
/** Milliseconds; crdHandler of apiextensions-apiserver waits as long before it tears a storage down. */
const teardownDelay = 1000
/** The interval of bookmarks, for clients that requested them. */
const bookmarkIntervalMs = 60_000
/** The last bookmark is sent this long before the end, so that the next watch resumes from close by. */
const lastBookmarkMs = 2_000
/** Watches without a timeout end after 30 to 60 minutes, so that load spreads. */
const minWatchMs = 1_800_000

/** The queued changes of one watch. */
export class WatchFeed {
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
    this.#endWithDefinition()
  }

  subscribe(since: number): void {
    const { store } = this.server
    if (this.#ended) return
    try {
      this.#resources.use(
        store.watch(
          resourceName(this.scope.resource.definition),
          since,
          (change) => this.#push(change),
          () => this.#fail(expiredStatus('too many objects have changed at once')),
        ),
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

  /**
   * Ends some time after the definition of a custom resource is deleted or its spec changes, after all changes until
   * then: the real server tears its storage down.
   */
  #endWithDefinition(): void {
    const { definition, version } = this.scope.resource
    if (definition.origin !== 'custom') return
    const { registry, clock } = this.server
    let isEnding = false
    const check = (): void => {
      const served = registry.find(definition.group, version.name, definition.plural)
      if (isEnding || isSameDefinition(served?.definition.crd, definition.crd)) return
      isEnding = true
      this.#resources.use(clock.timer(teardownDelay, () => this.end()))
    }
    this.#resources.use(registry.onChange(check))
    check()
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

function expiredStatus(message: string): Status {
  return failure(410, 'Expired', message).status
}

/** Compares what the real server builds the storage of a custom resource from. */
function isSameDefinition(served: KubeObject | undefined, known: KubeObject | undefined): boolean {
  if (served === known) return true
  return (
    served?.metadata.uid === known?.metadata.uid &&
    jsonEqual(served?.['spec'], known?.['spec']) &&
    jsonEqual(acceptedNames(served), acceptedNames(known))
  )
}

function acceptedNames(crd: KubeObject | undefined): unknown {
  return (crd?.['status'] as { readonly acceptedNames?: unknown } | undefined)?.acceptedNames
}
