// Failures of the groups of one controller: which are reported, and what retries a group besides its backoff.
import { isKindNotServed } from '@fairlead/client'
import type { GrantWatch, Manager, Result, WorkLoop } from '@fairlead/controller'
import { HookError, KindUnavailable, after, failureOf } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { isConflict, isForbidden, isNamespaceTerminating } from '@fairlead/kube'
import { HookBusyError } from '../engine/hook.ts'
import type { KindProblem } from './caches.ts'
import type { FailingGroup, GroupRef, GroupState } from './group-state.ts'
import { groupId } from './group-state.ts'
import { WriteError } from './writer.ts'

/** Dependencies of {@link GroupFailures}. */
export interface GroupFailuresOptions {
  readonly manager: Manager
  readonly loop: WorkLoop<GroupRef>
  readonly groups: GroupState
  readonly caches: { problems(): readonly KindProblem[]; retryForbidden(): void }
  readonly grants: GrantWatch
  /** Returns the parent of a group; undefined once it is deleted. */
  readonly parentOf: (group: GroupRef) => KubeObject | undefined
  /** Returns the name of a group in messages, as `Kind.group/namespace/name`. */
  readonly nameOf: (group: GroupRef) => string
  /** Reports the failure of a group on its parent. */
  readonly warn: (parent: KubeObject, group: GroupRef, error: unknown) => void
  readonly onStateChange: () => void
}

/** Reports the failures of groups and retries them. */
export class GroupFailures {
  readonly #options: GroupFailuresOptions

  constructor(options: GroupFailuresOptions) {
    this.#options = options
  }

  /** Returns when a group is retried whose hook cannot be called now; throws all other errors. */
  postponed(group: GroupRef, error: unknown, now: number): Result {
    if (error instanceof HookBusyError) {
      const retryAt = now + error.retryAfter
      return this.#waitForHook(group, error, { retryAfter: error.retryAfter, retry: 'after', retryAt })
    }
    if (error instanceof HookError && error.code === 'HookSuspended') {
      const { manager, loop } = this.#options
      const { endpoint = '', retryAfter = 0 } = error
      const waiter = `${loop.name}|${groupId(group)}`
      manager.endpoints.waitFor(endpoint, waiter, () => loop.queue.hurry(group))
      return this.#waitForHook(group, error, { retryAfter, retry: 'backoff', retryAt: undefined })
    }
    throw error
  }

  /** Reports a failure of a group. */
  failed(group: GroupRef, error: unknown): void {
    const { groups, grants, parentOf, nameOf, warn, onStateChange } = this.#options
    const parent = parentOf(group)
    if (isMissingRight(error)) grants.watch()
    // A cache that lags and a lost race need no report: the next reconcile resolves them.
    if (parent === undefined || isConflict(error) || (error instanceof WriteError && error.code === 'CacheBehind'))
      return
    // The group ends with the namespace: nothing is wrong that a user could correct.
    const isEnding = isNamespaceTerminating(error) || (error instanceof Error && isNamespaceTerminating(error.cause))
    const retry = isEnding ? 'after' : 'backoff'
    groups.fail({ ...group, input: nameOf(group), message: messageOf(error), retry, retryAt: undefined, error })
    if (!isEnding) warn(parent, group, error)
    onStateChange()
  }

  /** A kind cannot be read, or a group fails, because a right is missing. */
  get isRightMissing(): boolean {
    const { caches, groups } = this.#options
    return (
      caches.problems().some(({ state }) => state === 'Forbidden') ||
      groups.failing.some(({ error }) => isMissingRight(error))
    )
  }

  /** Roles or bindings changed: retries what a missing right refused. */
  retryGranted(): void {
    const { caches, groups, loop } = this.#options
    caches.retryForbidden()
    for (const { error, parent, mapKey } of groups.failing) {
      if (!isMissingRight(error)) continue
      const group = { parent, mapKey }
      loop.queue.forget(group)
      loop.add(group)
    }
  }

  /** Kinds became known: retries the groups that failed without them. */
  retryUnavailable(): void {
    const { groups, loop } = this.#options
    for (const group of groups.failing)
      if (isKindUnavailable(group)) loop.add({ parent: group.parent, mapKey: group.mapKey })
  }

  /** Needs neither event nor log line. */
  #waitForHook(
    group: GroupRef,
    error: Error,
    { retryAfter, ...retry }: Pick<FailingGroup, 'retry' | 'retryAt'> & { readonly retryAfter: number },
  ): Result {
    const { groups, nameOf, onStateChange } = this.#options
    groups.fail({ ...group, input: nameOf(group), message: error.message, error, ...retry })
    onStateChange()
    return after(retryAfter)
  }
}

/**
 * Returns whether a group fails because a kind was not served, or because a write was forbidden: its definition was
 * terminating, or a right was missing.
 */
function isKindUnavailable({ error }: FailingGroup): boolean {
  const causes = [error, error instanceof Error ? error.cause : undefined]
  return causes.some((cause) => isKindNotServed(cause) || isForbidden(cause))
}

function isMissingRight(error: unknown): boolean {
  return failureOf(error).type === 'AccessDenied' || (error instanceof KindUnavailable && error.state === 'Forbidden')
}

/** Returns the message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
