// Ports for servers of tests that must know their port before they start, or listen there again after a restart.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Ports that no system gives to a socket by itself: those begin at 32768 on Linux, at 49152 elsewhere. */
const range = { first: 10_000, last: 32_000 }
const given = new Set<number>()

/** Returns a port of this machine on which nothing listens, and which only a test that asks here may take. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(range.first, range.last)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return false
  }
  await once(probe.close(), 'close')
  return true
}
