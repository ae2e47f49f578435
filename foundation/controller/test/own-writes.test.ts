import { OwnWrites } from '@fairlead/controller'
import type { ObservedChange } from '@fairlead/controller'
import { describe, expect, test } from 'vitest'

const changed = (resourceVersion: string): ObservedChange => ({ type: 'changed', resourceVersion })
const removed = (resourceVersion: string): ObservedChange => ({ type: 'removed', resourceVersion })

describe('own writes', () => {
  test('an event before the response of its write is held, and dropped with the response', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    expect(own.suppresses('pod', 'me', changed('11'))).toBe(true)
    expect(own.wrote('pod', 'me', '11', '11')).toBe(false)
    expect(own.size).toBe(0)
  })

  test('an event after the response of its write is dropped', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    expect(own.wrote('pod', 'me', '11', '10')).toBe(false)
    expect(own.suppresses('pod', 'me', changed('11'))).toBe(true)
    expect(own.suppresses('pod', 'me', changed('12'))).toBe(false)
    expect(own.size).toBe(0)
  })

  test.each([
    ['before ours', '10'],
    ['after ours', '12'],
  ])('a change by others %s that came meanwhile wakes with the answer', (_when, foreign) => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    own.suppresses('pod', 'me', changed(foreign))
    own.suppresses('pod', 'me', changed('11'))
    expect(own.wrote('pod', 'me', '11', '12')).toBe(true)
    expect(own.size).toBe(0)
  })

  test('a foreign change between the response and our event wakes at once', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    own.wrote('pod', 'me', '11', '9')
    expect([own.suppresses('pod', 'me', changed('10')), own.suppresses('pod', 'me', changed('11'))]).toEqual([
      false,
      true,
    ])
  })

  test('two consecutive writes drop two events', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    own.wrote('pod', 'me', '11', '10')
    own.begin('pod', 'me')
    own.wrote('pod', 'me', '12', '10')
    expect([own.suppresses('pod', 'me', changed('11')), own.suppresses('pod', 'me', changed('12')), own.size]).toEqual([
      true,
      true,
      0,
    ])
  })

  test('a write that changed nothing leaves no expected event', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    own.wrote('pod', 'me', '11', '11')
    expect(own.size).toBe(0)
  })

  test('an event that a relist skipped does not stay expected', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    own.wrote('pod', 'me', '11', '10')
    expect([own.suppresses('pod', 'me', changed('15')), own.size]).toEqual([false, 0])
  })

  test('a change that a relist found wakes, although it is the revision of our write: it may contain foreign ones', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    own.wrote('pod', 'me', '12', '10')
    expect([own.suppresses('pod', 'me', { ...changed('12'), relisted: true }), own.size]).toEqual([false, 0])
    own.begin('pod', 'me')
    expect(own.suppresses('pod', 'me', { ...changed('14'), relisted: true })).toBe(true)
    expect([own.wrote('pod', 'me', '14', '14'), own.size]).toEqual([true, 0])
  })

  test('changes of an object are never held for other items', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    expect([own.suppresses('pod', 'you', changed('11')), own.suppresses('node', 'me', changed('11'))]).toEqual([
      false,
      false,
    ])
  })

  test('after a failed write every change that arrived meanwhile wakes: its author is unknown', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    own.suppresses('pod', 'me', changed('11'))
    expect([own.failed('pod', 'me'), own.size]).toEqual([true, 0])
    own.begin('pod', 'me')
    expect(own.failed('pod', 'me')).toBe(false)
  })

  test('the event of our own delete is dropped, before and after the response', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    expect([own.wrote('pod', 'me', undefined, '10'), own.suppresses('pod', 'me', removed('11')), own.size]).toEqual([
      false,
      true,
      0,
    ])
    own.begin('pod', 'me')
    own.suppresses('pod', 'me', removed('21'))
    expect([own.wrote('pod', 'me', undefined, undefined), own.size]).toEqual([false, 0])
  })

  test('a change that several caches report is suppressed for each, before and after the response', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    expect(own.suppresses('pod', 'me', changed('11'), 2)).toBe(true)
    expect(own.wrote('pod', 'me', '11', '10', 2)).toBe(false)
    expect([own.suppresses('pod', 'me', changed('11'), 2), own.size]).toEqual([true, 0])
    own.begin('pod', 'me')
    own.wrote('pod', 'me', '12', '11', 2)
    expect([
      own.suppresses('pod', 'me', changed('12'), 2),
      own.suppresses('pod', 'me', changed('12'), 2),
      own.size,
    ]).toEqual([true, true, 0])
    own.begin('pod', 'me')
    own.wrote('pod', 'me', undefined, '12', 2)
    expect([
      own.suppresses('pod', 'me', removed('13'), 2),
      own.suppresses('pod', 'me', removed('13'), 2),
      own.size,
    ]).toEqual([true, true, 0])
  })

  test('an object that we deleted and others recreated wakes', () => {
    const own = new OwnWrites()
    own.begin('pod', 'me')
    own.wrote('pod', 'me', undefined, '10', 2)
    expect([
      own.suppresses('pod', 'me', removed('11'), 2),
      own.suppresses('pod', 'me', { type: 'added', resourceVersion: '12' }, 2),
      own.size,
    ]).toEqual([true, false, 0])
  })
})
