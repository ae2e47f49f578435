// The end of `fairlead run`, with capabilities that take part in the test.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import type { Capability } from '@fairlead/controller'
import type { CapabilityEntry } from '../src/capabilities.ts'
import { parseRunOptions } from '../src/run/options.ts'
import { run } from '../src/run/run.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const others = signals.map((signal) => [signal, process.listeners(signal)] as const)

afterEach(() => {
  vi.restoreAllMocks()
  for (const [signal, listeners] of others)
    for (const listener of process.listeners(signal)) if (!listeners.includes(listener)) process.off(signal, listener)
})

test('capabilities stop together, so that runs in progress of one do not use up the time of the next', async () => {
  await using server = await ApiServer.start()
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-run-stop-'))
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, (await server.listen()).kubeconfig)
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const started = new Set<string>()
  const stopping = new Set<string>()
  const allStop = Promise.withResolvers<void>()
  const names = ['one', 'two', 'three']
  const entries = names.map((name): CapabilityEntry => {
    const capability: Capability = {
      name,
      crds: [],
      rules: [],
      setup: async () => {
        started.add(name)
        return {
          stop: async () => {
            stopping.add(name)
            if (stopping.size === names.length) allStop.resolve()
            await allStop.promise
          },
        }
      },
    }
    return { name, summary: name, load: async () => capability }
  })
  const options = await parseRunOptions({
    kubeconfig,
    port: '0',
    apiPort: '0',
    leaderElect: 'false',
    set: [],
    resolve: [],
  })
  const running = run({ ...options, capabilities: entries })
  await vi.waitFor(() => expect([...started]).toEqual(names))
  await vi.waitFor(() => expect(process.listenerCount('SIGTERM')).toBeGreaterThan(0))
  process.emit('SIGTERM')
  await running
  expect([...stopping].toSorted()).toEqual(names.toSorted())
  rmSync(folder, { recursive: true })
})
