// The table of failures: what each error means, how it is retried, and that the object shows it.
import { ApiServer } from '@fairlead/apiserver'
import { ClientError, kind } from '@fairlead/client'
import { KindUnavailable, Manager, RemoteError, failureOf, failures } from '@fairlead/controller'
import { installDefinitions, localRetry, remoteRetry } from '@fairlead/controller'
import type { FailureType } from '@fairlead/controller'
import {
  alreadyExists,
  applyConflict,
  conflict,
  expired,
  failure,
  findCondition,
  forbidden,
  notFound,
  resourceNotFound,
  serviceUnavailable,
  timeout,
  tooManyRequests,
  unauthorized,
} from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { Memcached, memcached, memcachedDefinition } from './support/memcached.ts'

const pods = { group: '', plural: 'pods' }
const denied = forbidden(pods, 'a', 'User "u" cannot create resource "pods" in API group "" in the namespace "x"')
const terminating = forbidden(pods, 'a', 'unable to create new content in namespace x because it is being terminated', [
  { reason: 'NamespaceTerminating', message: 'namespace x is being terminated', field: 'metadata.namespace' },
])
const unknown = new KindUnavailable(kind('v1', 'Pod'), 'Forbidden', undefined)

const rows: readonly (readonly [string, unknown, FailureType, typeof localRetry])[] = [
  ['a 403 of the authorizer', denied, 'AccessDenied', remoteRetry],
  ['a 403 of a quota', forbidden(pods, 'a', 'exceeded quota: q'), 'Refused', localRetry],
  [
    'a 403 of a webhook',
    failure(403, 'Forbidden', 'admission webhook "w" denied the request: no'),
    'Refused',
    localRetry,
  ],
  ['a 403 of a namespace that is being deleted', terminating, 'NamespaceTerminating', remoteRetry],
  ['a 401', unauthorized(), 'Unauthenticated', remoteRetry],
  ['a 404 of an object', notFound(pods, 'a'), 'ObjectMissing', localRetry],
  ['a 404 of a kind', resourceNotFound(), 'KindNotServed', remoteRetry],
  ['a kind that discovery lacks', new ClientError('UnknownKind', 'no such kind'), 'KindNotServed', remoteRetry],
  ['a 408', failure(408, undefined, 'too slow'), 'TimedOut', remoteRetry],
  ['a 409 of a stale resourceVersion', conflict(pods, 'a'), 'Conflict', localRetry],
  ['a 409 of an owned field', applyConflict('x', [{ reason: 'FieldManagerConflict' }]), 'FieldsOwned', localRetry],
  ['a 409 of a name', alreadyExists(pods, 'a'), 'NameTaken', localRetry],
  ['a 410', expired('too old'), 'Expired', remoteRetry],
  ['a 413', failure(413, 'RequestEntityTooLarge', 'too large'), 'Invalid', localRetry],
  ['a 422', failure(422, 'Invalid', 'spec.size: must be positive'), 'Invalid', localRetry],
  ['a 429', tooManyRequests('later', 7), 'Throttled', remoteRetry],
  ['a 500', failure(500, 'InternalError', 'broken'), 'ServerFailed', remoteRetry],
  ['a 503', serviceUnavailable('starting'), 'ServerFailed', remoteRetry],
  ['a 504', timeout('too slow'), 'TimedOut', remoteRetry],
  ['a connection that breaks', new ClientError('ConnectionFailed', 'reset'), 'Unreachable', remoteRetry],
  ['a hook that fails', new RemoteError('Failed', 'no'), 'RemoteFailed', remoteRetry],
  ['a kind that cannot be listed', unknown, 'KindUnavailable', remoteRetry],
  ['a bug', new TypeError('x is undefined'), 'Other', localRetry],
]

describe('a failure', () => {
  test.each(rows)(
    '%s has a type of its own, and is retried as the table says',
    (_title, error, type, { base, cap }) => {
      const { retry, ...failed } = failureOf(error)
      expect({ ...failed, base: retry.base, cap: retry.cap }).toEqual({
        type,
        isReported: type !== 'Conflict',
        base,
        cap,
      })
      expect(failureOf(new Error('wrapped', { cause: error })).type).toBe(type)
    },
  )

  test('has at least one error in every row of the table', () => {
    expect(Object.keys(failures).toSorted()).toEqual([...new Set(rows.map(([, , type]) => type))].toSorted())
  })

  test('is not retried before the server wants', () => {
    expect(failureOf(tooManyRequests('later', 7)).retry.atLeast).toBe(7000)
  })
})

test('the object of a reconcile that fails shows every failure but a conflict in Ready, on its first run', async () => {
  await using server = await ApiServer.start({ controllers: ['crd'] })
  const client = server.client()
  await installDefinitions(client, [memcachedDefinition])
  const errors = new Map(rows.map(([, error], index) => [`row-${index}`, error]))
  await using _manager = await Manager.start({
    client: server.client(),
    setup: (manager) => {
      manager
        .controller('failing')
        .for(Memcached)
        .withOptions({ concurrency: 4 })
        .reconcile(({ key }) => Promise.reject(errors.get(key.name) as Error))
    },
  })
  for (const [index, [title, error, type]] of rows.entries()) {
    if (type === 'Conflict') continue
    await client.apply(memcached(`row-${index}`, { size: 1 }))
    const failing = await client.waitFor(Memcached, `row-${index}`, ({ status }) => status?.conditions !== undefined)
    const ready = findCondition(failing.status?.conditions, 'Ready')
    expect([title, ready?.status, ready?.message]).toEqual([title, 'False', (error as Error).message])
  }
})
