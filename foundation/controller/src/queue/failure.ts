// One table of what errors of the API server and of remote endpoints mean, and how they are retried (design decision
// 14). Start with `failureOf`.
import { CollisionError, isKindNotServed } from '@fairlead/client'
import { StatusError, isAlreadyExists, isForbidden, isNamespaceTerminating } from '@fairlead/kube'
import { KindUnavailable } from '../informer/kind-unavailable.ts'
import { RemoteError, localRetry, remoteRetry } from './retry-policy.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** The retries and the report of one type of failure. */
export interface FailureRow {
  /** Meaning for the object that is reconciled. */
  readonly meaning: string
  /** Local failures wait for a user, up to 1000 s; remote ones pass by themselves and are retried within 60 s. */
  readonly retry: RetryPolicy
  /** Reported on the object. What the next run resolves by itself is not. */
  readonly isReported: boolean
}

/** The types of failures, a row of {@link failures} each. */
export type FailureType =
  | 'AccessDenied'
  | 'NamespaceTerminating'
  | 'Refused'
  | 'Unauthenticated'
  | 'ObjectMissing'
  | 'KindNotServed'
  | 'Conflict'
  | 'FieldsOwned'
  | 'NameTaken'
  | 'Expired'
  | 'Throttled'
  | 'Invalid'
  | 'TimedOut'
  | 'ServerFailed'
  | 'Unreachable'
  | 'RemoteFailed'
  | 'KindUnavailable'
  | 'Other'

/** The meaning, the retries and the report of every type of failure. */
export const failures: Readonly<Record<FailureType, FailureRow>> = {
  AccessDenied: row(
    '403 of the authorizer: a right is missing until someone grants it, without a change of the object',
    remoteRetry,
  ),
  NamespaceTerminating: row('403 of a namespace that is being deleted: writes fail until it is', remoteRetry),
  Refused: row('403 of an admission plugin or a quota: the object, or the policy, has to change', localRetry),
  Unauthenticated: row('401: the credentials expired, and are renewed', remoteRetry),
  ObjectMissing: row('404 of an object: something that the object names does not exist', localRetry),
  KindNotServed: row('404 of a kind: it is served again without a change of the object', remoteRetry),
  Conflict: row('409 of a stale resourceVersion or uid: the next run reads the newest state', localRetry, {
    isReported: false,
  }),
  FieldsOwned: row('409 of fields: another field manager owns them, and force was not asked for', localRetry),
  NameTaken: row('409 of a name: a foreign object has it', localRetry),
  Expired: row('410: a list or a token of a list is too old, and is read again', remoteRetry),
  Throttled: row('429: the server asks to wait', remoteRetry),
  Invalid: row('422, and every other 4xx: the server will not accept this object', localRetry),
  TimedOut: row('408, 504: the server did not finish in time', remoteRetry),
  ServerFailed: row('5xx: the server failed', remoteRetry),
  Unreachable: row('no response: refused, reset, timed out, or not what was expected', remoteRetry),
  RemoteFailed: row('a hook, git or a cloud failed', remoteRetry),
  KindUnavailable: row('the objects of a kind are unknown', remoteRetry),
  Other: row('an error of the controller, or of what the user wrote', localRetry),
}

/** A failure: its type, its retries, and whether it is reported on the object. */
export interface Failure extends Omit<FailureRow, 'meaning'> {
  readonly type: FailureType
}

/** Returns the failure that an error is. An error that wraps another is the failure of its cause. */
export function failureOf(error: unknown): Failure {
  const type = failureType(error)
  const { retry, isReported } = failures[type]
  if (error instanceof RemoteError)
    return { type, retry: { ...retry, atLeast: error.retryAfter, endpoint: error.endpoint }, isReported }
  if (error instanceof StatusError && retry === remoteRetry)
    return { type, retry: { ...retry, atLeast: (error.status.details?.retryAfterSeconds ?? 0) * 1000 }, isReported }
  if (type === 'Other' && error instanceof Error && error.cause !== undefined) return failureOf(error.cause)
  return { type, retry, isReported }
}

function failureType(error: unknown): FailureType {
  if (error instanceof RemoteError) return 'RemoteFailed'
  if (error instanceof KindUnavailable) return 'KindUnavailable'
  if (isKindNotServed(error)) return 'KindNotServed'
  if (error instanceof CollisionError || isAlreadyExists(error)) return 'NameTaken'
  if (error instanceof StatusError) return isForbidden(error) ? forbiddenType(error) : typeOfStatus(error)
  return isRemote(error) ? 'Unreachable' : 'Other'
}

/** The authorizer names verb and resource. Admission plugins and RBAC escalation respond 403, too. */
function forbiddenType(error: StatusError): FailureType {
  const { message } = error
  if (isNamespaceTerminating(error)) return 'NamespaceTerminating'
  return /\bcannot \w+ resource\b/.test(message) ? 'AccessDenied' : 'Refused'
}

function typeOfStatus({ code, status }: StatusError): FailureType {
  switch (code) {
    case 401:
      return 'Unauthenticated'
    case 403:
      return 'Refused'
    case 404:
      return 'ObjectMissing'
    case 408:
    case 504:
      return 'TimedOut'
    case 409:
      return (status.details?.causes ?? []).some(({ reason }) => reason === 'FieldManagerConflict')
        ? 'FieldsOwned'
        : 'Conflict'
    case 410:
      return 'Expired'
    case 429:
      return 'Throttled'
    default:
      return code >= 500 ? 'ServerFailed' : 'Invalid'
  }
}

/** Errors mark themselves as remote; ClientError does. */
function isRemote(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'remote' in error && error.remote === true
}

function row(meaning: string, retry: RetryPolicy, { isReported = true }: { isReported?: boolean } = {}): FailureRow {
  return { meaning, retry, isReported }
}
