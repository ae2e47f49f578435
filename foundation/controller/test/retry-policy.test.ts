import { ClientError } from '@fairlead/client'
import { failure, notFound } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { RemoteError, localRetry, remoteRetry } from '../src/index.ts'
import { retryPolicyFor } from '../src/queue/retry-policy.ts'

const noResource = failure(404, 'NotFound', 'the server could not find the requested resource')
const unavailable = failure(503, 'ServiceUnavailable', 'later')

test.each<[string, unknown, typeof localRetry]>([
  ['an object that does not exist', notFound({ group: '', plural: 'secrets' }, 'a'), localRetry],
  ['a kind that is not served', noResource, remoteRetry],
  ['a kind that discovery does not know', new ClientError('UnknownKind', 'no such kind'), remoteRetry],
  ['an error without a cause', new Error('wrong'), localRetry],
  ['an error caused by a kind that is not served', new Error('two', { cause: noResource }), remoteRetry],
  ['an error caused by a server that fails', new Error('two', { cause: unavailable }), remoteRetry],
  ['an error caused by a hook', new Error('two', { cause: new RemoteError('Failed', 'no') }), remoteRetry],
  ['an error caused by a refusal', new Error('two', { cause: failure(422, 'Invalid', 'no') }), localRetry],
])('%s is retried by its policy', (_title, error, policy) => {
  const { base, cap } = retryPolicyFor(error)
  expect({ base, cap }).toEqual(policy)
})
