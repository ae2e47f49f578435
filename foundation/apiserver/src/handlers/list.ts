// GET of a collection: its revision, selectors and pages. The error messages are copies of the real server's
// (recordings, area list).
import { yieldIfLong } from '@fairlead/client'
import { asObject, badRequest, failure, resourceVersionTooLarge } from '@fairlead/kube'
import type { JsonObject, MutableJsonObject } from '@fairlead/kube'
import type { ListOptions } from '../request/list-options.ts'
import { parseResourceVersion, resourceVersionSyntax } from '../request/query.ts'
import type { Selection } from '../request/selection.ts'
import { resourceName } from '@fairlead/builtin-kinds'
import { StoreError } from '../storage/store.ts'
import type { Entry, Range } from '../storage/store.ts'
import type { ServedPage } from '../storage/served-store.ts'
import type { View } from '../views/views.ts'
import { decodeContinue, encodeContinue } from './continue-token.ts'
import type { ContinueToken } from './continue-token.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { originRules } from '../objects/origin-rules.ts'

/** A list before it is transformed and encoded. */
export interface ObjectList {
  readonly views: readonly View[]
  readonly metadata: JsonObject
}

/** The time that a list waits for a future revision. Milliseconds. */
const futureWaitMs = 3000

/**
 * Lists objects.
 * @throws StatusError 400, 410, 504
 */
export async function listObjects(
  server: ServerDependencies,
  scope: RequestScope,
  given: ListOptions,
  selection: Selection,
): Promise<ObjectList> {
  const options = readsWatchCache(given) ? { ...given, limit: 0 } : given
  const token = options.continueToken === '' ? undefined : readToken(options)
  const revision =
    token === undefined ? await revisionOf(server, scope, options) : token.revision < 0 ? undefined : token.revision
  const base = scope.namespace === '' ? '' : `${scope.namespace}/`
  const page = await readPage(server, scope, options, selection, { base, revision, token })
  const metadata: MutableJsonObject = { resourceVersion: String(page.revision) }
  if (page.last !== undefined)
    metadata['continue'] = encodeContinue({ revision: page.revision, after: page.last.slice(base.length) })
  else if (originRules(scope.resource.definition).hasEmptyContinue) metadata['continue'] = ''
  if (selection.isEverything && page.remaining > 0) metadata['remainingItemCount'] = page.remaining
  return { views: page.views, metadata }
}

/** Returns true for a list that the real server answers from its watch cache: without a limit. */
function readsWatchCache({ resourceVersion, resourceVersionMatch }: ListOptions): boolean {
  return resourceVersion === '0' && resourceVersionMatch !== 'Exact'
}

interface Start {
  readonly base: string
  readonly revision: number | undefined
  readonly token: ContinueToken | undefined
}

interface Selected {
  readonly views: readonly View[]
  readonly revision: number
  readonly remaining: number
  /** The last key of a page that is followed by another. */
  readonly last: string | undefined
}

async function readPage(
  server: ServerDependencies,
  scope: RequestScope,
  options: ListOptions,
  selection: Selection,
  start: Start,
): Promise<Selected> {
  const { store, views } = server
  const { resource } = scope
  const name = resourceName(resource.definition)
  const origin = { signal: scope.signal, labels: options.labels, fields: options.fields, wanted: options.limit }
  const read = async (range: Range): Promise<ServedPage> => {
    try {
      return await store.list(name, range, origin)
    } catch (error) {
      throw expiredRead(error, start.token, options, store.revision)
    }
  }
  const first: Range = {
    prefix: start.base,
    ...(start.token === undefined ? {} : { after: start.base + start.token.after }),
    ...(start.revision === undefined ? {} : { revision: start.revision }),
  }
  if (store.paginates(name)) {
    const page = await read(first)
    const found = await views.all(page.entries, resource)
    return { ...page, views: found.filter(({ object }) => selection.matches(object)), last: page.next }
  }
  if (selection.isEverything) {
    const page = await read(options.limit > 0 ? { ...first, limit: options.limit } : first)
    return {
      views: await views.all(page.entries, resource),
      revision: page.revision,
      remaining: page.remaining,
      last: page.remaining > 0 ? page.entries.at(-1)!.key : undefined,
    }
  }
  if (selection.name !== undefined && scope.namespace !== '' && start.revision === undefined)
    return selectByName(server, scope, selection)
  return selectFrom(server, scope, options, selection, await read(first))
}

/** Gets the one object that a selector names, without a scan. */
async function selectByName(server: ServerDependencies, scope: RequestScope, selection: Selection): Promise<Selected> {
  const { store, views } = server
  const entry = await store.get(
    resourceName(scope.resource.definition),
    `${scope.namespace}/${selection.name}`,
    undefined,
    scope.signal,
  )
  const found = entry === undefined ? [] : [await views.of(entry, scope.resource)]
  return {
    views: found.filter((view) => selection.matches(view.object)),
    revision: store.revision,
    remaining: 0,
    last: undefined,
  }
}

async function selectFrom(
  server: ServerDependencies,
  scope: RequestScope,
  options: ListOptions,
  selection: Selection,
  page: ServedPage,
): Promise<Selected> {
  const selected: View[] = []
  const entries = await labelled(scope, options, page.entries)
  const lastKey = page.entries.at(-1)?.key
  for (const [index, view] of (await server.views.all(entries, scope.resource)).entries()) {
    if (index % 256 === 255) {
      await yieldIfLong()
      scope.signal.throwIfAborted()
    }
    if (!selection.matches(view.object)) continue
    selected.push(view)
    const { key } = entries[index]!
    // A full page has a next one while there are keys at all, whether or not they will match.
    if (selected.length === options.limit && key !== lastKey)
      return { views: selected, revision: page.revision, remaining: 0, last: key }
  }
  return { views: selected, revision: page.revision, remaining: 0, last: undefined }
}

/** Leaves out entries whose labels do not match, so that they need no views. A conversion may change the labels. */
async function labelled(
  scope: RequestScope,
  { labels }: ListOptions,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  if (labels.isEmpty) return entries
  const { apiVersion } = scope.resource
  const kept: Entry[] = []
  for (const [index, entry] of entries.entries()) {
    if (index % 1024 === 1023) {
      await yieldIfLong()
      scope.signal.throwIfAborted()
    }
    const object = asObject(entry.object)
    if (object.apiVersion !== apiVersion || labels.matches(object.metadata.labels ?? {})) kept.push(entry)
  }
  return kept
}

/**
 * Returns the revision that the list must have exactly; undefined for the newest. Waits for a revision that the list
 * must not be older than.
 */
async function revisionOf(
  server: ServerDependencies,
  scope: RequestScope,
  options: ListOptions,
): Promise<number | undefined> {
  const { store } = server
  if (options.resourceVersion === '' || options.resourceVersion === '0') return undefined
  const revision = parseResourceVersion(options.resourceVersion)
  if (revision === undefined)
    throw badRequest(`invalid resource version: ${resourceVersionSyntax(options.resourceVersion)}`)
  if (revision > store.revision) await waitFor(server, scope, revision, options.timeoutSeconds)
  // Pages at a revision without resourceVersionMatch are legacy behaviour; they have exactly that revision.
  const isExact = options.resourceVersionMatch === '' ? options.limit > 0 : options.resourceVersionMatch === 'Exact'
  return isExact ? revision : undefined
}

/**
 * Waits until a revision is visible.
 * @throws StatusError 504 when it does not become visible in time
 */
export async function waitFor(
  server: ServerDependencies,
  scope: RequestScope,
  revision: number,
  timeoutSeconds?: number,
): Promise<void> {
  const { store, clock } = server
  if (revision <= store.revision) return
  const stop = new AbortController()
  const limit = timeoutSeconds === undefined ? futureWaitMs : Math.min(futureWaitMs, timeoutSeconds * 1000)
  using _timer = clock.timer(limit, () => stop.abort())
  try {
    await store.reached(revision, AbortSignal.any([stop.signal, scope.signal]))
  } catch (error) {
    if (scope.signal.aborted) throw error
    throw resourceVersionTooLarge(String(revision), String(store.revision))
  }
}

function readToken(options: ListOptions): ContinueToken {
  const token = decodeContinue(options.continueToken)
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  return token
}

function expiredRead(error: unknown, token: ContinueToken | undefined, options: ListOptions, newest: number): unknown {
  if (!(error instanceof StoreError)) return error
  if (error.code === 'RevisionInFuture') return resourceVersionTooLarge(options.resourceVersion, String(newest))
  if (error.code !== 'RevisionExpired') return error
  if (token === undefined) {
    return failure(410, 'Expired', 'The resourceVersion for the provided list is too old.')
  }
  const message = `The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.`
  const refusal = failure(410, 'Expired', message)
  const status = { ...refusal.status, metadata: { continue: encodeContinue({ revision: -1, after: token.after }) } }
  return Object.assign(refusal, { status })
}
