import { beginWork, yieldIfLong } from '@fairlead/client'
import { expect, test } from 'vitest'

/** Blocks the event loop for longer than one iteration may last. */
function work(): void {
  const began = performance.now()
  while (performance.now() - began < 15);
}

test('work that continues after a yield yields again when it is long', async () => {
  beginWork()
  work()
  const others: string[] = []
  setImmediate(() => others.push('first'))
  await yieldIfLong()
  expect(others).toEqual(['first'])
  work()
  setImmediate(() => others.push('second'))
  await yieldIfLong()
  expect(others).toEqual(['first', 'second'])
})
