import { ApiServer } from '@fairlead/apiserver'
import { KubeEvent } from '@fairlead/client'
import { EventRecorder, silentLogger } from '@fairlead/controller'
import { FakeClock } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { recorded } from '../../../test/support/recorded-client.ts'

const about: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'default', name: 'a', uid: 'u', resourceVersion: '7' },
}

test('a repeated event increments the count of its series, written at intervals; a different one is a new event', async () => {
  await using server = await ApiServer.start({ controllers: false })
  const clock = new FakeClock('2026-03-01T10:00:00.123Z')
  const { client, transport } = recorded(server.client(), clock)
  const recorder = new EventRecorder({
    client,
    clock,
    random: () => 0,
    log: silentLogger,
    controller: 'example.com/test',
    instance: 'me',
  })
  const events = recorder.about(about)
  for (let i = 0; i < 20; i++) {
    events.warning('SyncError', 'no luck')
    await clock.advance(5000)
  }
  events.normal('Created', 'ä'.repeat(600), { action: 'Create', related: { ...about, metadata: { name: 'other' } } })
  await recorder.flush()
  const { items } = await server.client().list(KubeEvent, { namespace: 'default' })
  const told = items
    .map(({ metadata: _metadata, ...event }) => event)
    .toSorted((one, other) => one.reason!.localeCompare(other.reason!))
  const common = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    reportingController: 'example.com/test',
    reportingInstance: 'me',
    regarding: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a', uid: 'u', resourceVersion: '7' },
  }
  expect(told).toMatchObject([
    {
      ...common,
      type: 'Normal',
      reason: 'Created',
      action: 'Create',
      eventTime: '2026-03-01T10:01:40.123000Z',
      note: `${'ä'.repeat(510)}…`,
      related: { apiVersion: 'v1', kind: 'ConfigMap', name: 'other' },
    },
    {
      ...common,
      type: 'Warning',
      reason: 'SyncError',
      action: 'SyncError',
      eventTime: '2026-03-01T10:00:00.123000Z',
      note: 'no luck',
      series: { count: 20, lastObservedTime: '2026-03-01T10:01:35.123000Z' },
    },
  ])
  const writes = transport.requests.filter((request) => request.includes('/events'))
  expect(writes.map((request) => request.split(' ')[0])).toEqual(['POST', 'PATCH', 'PATCH', 'PATCH', 'PATCH', 'POST'])
})

/** What a recorder writes about an object. */
async function eventsAfter(
  run: (record: (reason: string, note: string) => void, clock: FakeClock) => Promise<void>,
): Promise<[string, number][]> {
  await using server = await ApiServer.start({ controllers: false })
  const clock = new FakeClock('2026-03-01T10:00:00Z')
  const { client } = recorded(server.client(), clock)
  const recorder = new EventRecorder({
    client,
    clock,
    random: () => 0,
    log: silentLogger,
    controller: 'example.com/test',
    instance: 'me',
  })
  await run((reason, note) => recorder.about(about).warning(reason, note), clock)
  await recorder.flush()
  const { items } = await server.client().list(KubeEvent, { namespace: 'default' })
  return items
    .toSorted((one, other) => one.eventTime!.localeCompare(other.eventTime!))
    .map(({ note, series }): [string, number] => [note!, series?.count ?? 1])
}

test('many events that differ in their note only are aggregated until ten quiet minutes have passed', async () => {
  const told = await eventsAfter(async (record, clock) => {
    for (let number = 0; number < 15; number++) {
      record('Failed', `attempt ${number}`)
      await clock.advance(10)
    }
    record('Failed', 'attempt 3')
    record('Other', 'attempt 20')
    await clock.advance(600_001)
    record('Failed', 'attempt 30')
  })
  expect(told).toEqual([
    ['attempt 0', 1],
    ['attempt 1', 1],
    ['attempt 2', 1],
    ['attempt 3', 2],
    ...[4, 5, 6, 7, 8, 9].map((number): [string, number] => [`attempt ${number}`, 1]),
    ['(combined from similar events): attempt 10', 5],
    ['attempt 20', 1],
    ['attempt 30', 1],
  ])
})

test('new events of one object are limited to a burst of 25, then one every five minutes', async () => {
  const told = await eventsAfter(async (record, clock) => {
    for (let number = 0; number < 40; number++) {
      record(`Reason${number}`, `${number}`)
      await clock.advance(1)
    }
    await clock.advance(300_000)
    record('Late', 'late')
    record('TooMuch', 'too much')
    // A series that has begun goes on.
    record('Reason24', '24')
  })
  expect(told.map(([note]) => note)).toEqual([...Array.from({ length: 25 }, (_, number) => `${number}`), 'late'])
  expect(told[24]).toEqual(['24', 2])
})
