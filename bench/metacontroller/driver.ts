// The two controllers under measurement, each a process of its own that speaks HTTPS: `fairlead run` as it is
// published, and the real Metacontroller, where METACONTROLLER names its binary.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { commandModule } from '../apiserver/program.ts'
import { startOptions } from '../apiserver/server-process.ts'

/** Fairlead, or the real Metacontroller. */
export type DriverName = 'ours' | 'peer'

/** Parents that each driver syncs at a time. */
const workers = 16

/** A running process. */
export class Driver {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  /** Starts a driver for the server of a kubeconfig. */
  static async start(name: DriverName, kubeconfig: string): Promise<Driver> {
    const [program, args] =
      name === 'peer' ? [peerBinary() ?? '', peerFlags(kubeconfig)] : [process.execPath, await ourFlags(kubeconfig)]
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_000)))
    child.once('exit', (code) => {
      if (code !== null && code !== 0) console.error(`${program} ended with ${code}:\n${output}`)
    })
    return new Driver(child)
  }

  /** Resident memory at its peak, in megabytes (10^6 bytes). */
  peakMemory(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
    return (Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6
  }

  /** CPU seconds so far, user and system. */
  cpuSeconds(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    // Fields 14 and 15 of proc(5), in ticks of 10 ms.
    return (Number(fields[11]) + Number(fields[12])) / 100
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
  }
}

/** The binary that METACONTROLLER names; undefined without one. */
export function peerBinary(): string | undefined {
  const { METACONTROLLER: named = '' } = process.env
  return existsSync(named) ? named : undefined
}

function peerFlags(kubeconfig: string): string[] {
  const flags = {
    kubeconfig,
    workers,
    'client-go-qps': 5000,
    'client-go-burst': 5000,
    'discovery-interval': '20s',
    'metrics-address': 0,
    'health-probe-bind-address': 0,
    'zap-log-level': 'error',
  }
  return Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)
}

async function ourFlags(kubeconfig: string): Promise<string[]> {
  const launcher = await commandModule('built')
  const flags = {
    kubeconfig,
    only: 'metacontroller',
    namespace: 'default',
    'leader-elect': 'false',
    port: 0,
    'api-port': 0,
    set: `metacontroller.workers=${workers}`,
  }
  return [...startOptions, launcher, 'run', ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)]
}
