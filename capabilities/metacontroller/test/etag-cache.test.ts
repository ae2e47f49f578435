// The cache of responses with ETags.
import { FakeClock } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { EtagCache } from '../src/hook/etag-cache.ts'

const response = (etag: string): { etag: string; body: { value: null; duplicates: [] } } => ({
  etag,
  body: { value: null, duplicates: [] },
})

test('drops the responses that were not used for longest when they exceed its memory limit', () => {
  const cache = new EtagCache({ clock: new FakeClock(), maxAge: 1000, cleanupInterval: 1000, maxBytes: 100 })
  for (const group of ['a', 'b']) cache.set(group, response(group), 40)
  cache.get('a')
  cache.set('c', response('c'), 40)
  cache.set('huge', response('huge'), 101)
  expect(['a', 'b', 'c', 'huge'].map((group) => cache.get(group)?.etag)).toEqual(['a', undefined, 'c', undefined])
  cache.set('c', response('c2'), 60)
  expect(['a', 'c'].map((group) => cache.get(group)?.etag)).toEqual(['a', 'c2'])
})

test('returns no response that has expired', async () => {
  const clock = new FakeClock()
  const cache = new EtagCache({ clock, maxAge: 1000, cleanupInterval: 5000, maxBytes: 100 })
  cache.set('a', response('a'), 40)
  await clock.advance(1000)
  expect(cache.get('a')).toBeUndefined()
})
