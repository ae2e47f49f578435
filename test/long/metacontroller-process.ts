// The two drivers of CompositeControllers and DecoratorControllers: the real Metacontroller (METACONTROLLER names its
// binary) as a process beside an embedded server, and ours.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ApiServer } from '@fairlead/apiserver'
import { Manager, createLogger } from '@fairlead/controller'
import { callServices, compositeControllers, decoratorControllers } from '@fairlead/metacontroller'

/** A driver that runs; disposing it stops it. */
interface Driver extends AsyncDisposable {
  /** Returns the end of its output. */
  output(): string
}

/** Starts the real Metacontroller on a server. */
export async function startReal(binary: string, server: ApiServer, folder: string): Promise<Driver> {
  const { kubeconfig } = await server.listen()
  const file = join(folder, `kubeconfig-${server.store.revision}`)
  writeFileSync(file, kubeconfig, { mode: 0o600 })
  const flags = {
    kubeconfig: file,
    'discovery-interval': '1s',
    'client-go-qps': '1000',
    'client-go-burst': '1000',
    'metrics-address': '0',
    'health-probe-bind-address': '0',
    'events-qps': '1000',
    'events-burst': '1000',
  }
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-20_000)))
  return {
    output: () => output,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
    },
  }
}

/** Starts our controllers on a server. */
export async function startOurs(server: ApiServer): Promise<Driver> {
  const stack = new AsyncDisposableStack()
  const logger = await createLogger({ level: 'error' })
  const manager = await Manager.start({
    client: server.client(),
    logger,
    setup: (made) => {
      const calls = stack.use(callServices(made, { resolve: new Map() }))
      for (const controllers of [compositeControllers(made, calls), decoratorControllers(made, calls)])
        stack.defer(() => controllers.stop())
    },
  })
  return {
    output: () => '',
    async [Symbol.asyncDispose]() {
      await stack[Symbol.asyncDispose]()
      await manager.stop()
    },
  }
}
