import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { stopOnSignals } from '../src/stop-signals.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const others = signals.map((signal) => [signal, process.listeners(signal)] as const)

afterEach(() => {
  for (const [signal, listeners] of others)
    for (const listener of process.listeners(signal)) if (!listeners.includes(listener)) process.off(signal, listener)
})

test('a signal that arrived while the process was busy with the first one is of the first one; a later one ends it', async () => {
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never)
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const stop = stopOnSignals()
  process.emit('SIGTERM')
  process.kill(process.pid, 'SIGINT')
  const busy = performance.now() + 400
  while (performance.now() < busy);
  expect(stop.reason).toBe('SIGTERM')
  // The pending signal is delivered within two turns of the event loop.
  await turn()
  await turn()
  expect(exit).not.toHaveBeenCalled()
  await vi.waitFor(() => {
    process.emit('SIGINT')
    expect(exit).toHaveBeenCalledWith(130)
  })
})
