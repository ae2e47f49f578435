// `fairlead fake-aws`: serves the fake until it is interrupted.
import { keepAlive, systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { CommandError, exitCode, readDocuments, usageError } from '@fairlead/offline'
import { FakeAws, FakeAwsServer, FakeError } from '../fake/index.ts'
import type { Script, Seed } from '../fake/index.ts'

/** Options of the command. */
export interface FakeAwsCommandOptions {
  readonly port: string
  readonly region: string
  readonly seed: string | undefined
  readonly script: string | undefined
}

const seedKeys = ['policies', 'roles', 'models', 'endpointConfigs', 'endpoints']
const scriptKeys = [
  'endpointCreating',
  'endpointUpdating',
  'endpointDeleting',
  'rolePropagation',
  'iamVisibility',
  'latency',
  'failingEndpoints',
  'failures',
]

/** Serves the fake. */
export async function run({ options, out, signal }: CommandContext<FakeAwsCommandOptions, object>): Promise<number> {
  const port = Number(options.port)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw usageError(`--port ${options.port}: must be a port`)
  const script = read(options.script, scriptKeys) as Partial<Script>
  const aws = new FakeAws({ clock: systemClock, script })
  try {
    aws.seed(options.region, read(options.seed, seedKeys) as Seed)
  } catch (error) {
    if (error instanceof FakeError) throw new CommandError(`${options.seed}: ${error.code}: ${error.message}`)
    throw error
  }
  await using server = await FakeAwsServer.start(aws, { port })
  out(`The fake AWS is at ${server.url}, account ${aws.account}; its log is at ${server.url}/_fake/log`)
  out(`export AWS_ENDPOINT_URL=${server.url}`)
  // The server itself does not keep the process alive.
  using _alive = keepAlive()
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  return exitCode.ok
}

function read(path: string | undefined, keys: readonly string[]): JsonObject {
  if (path === undefined) return {}
  const [first] = readDocuments(path)
  const value = first?.value
  if (!isJsonObject(value)) throw new CommandError(`${path}: must be a map of ${keys.join(', ')}`)
  const unknown = Object.keys(value).find((key) => !keys.includes(key))
  if (unknown !== undefined) throw new CommandError(`${path}: unknown key ${unknown}; known are ${keys.join(', ')}`)
  return value
}
