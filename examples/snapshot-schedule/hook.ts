// The hooks of the SnapshotSchedule controller. They want a new snapshot when the last one is old enough, and none
// older than its time to live. `node hook.ts` serves them on PORT (8080); `start` serves them inside a process.
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Snapshot {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string }
  spec: { persistentVolumeClaimName: string; takenAt: string }
}

interface HookRequest {
  parent: { metadata: { name: string }; spec: { snapshotInterval: string; snapshotTTL: string } }
  input: { metadata: { name: string } }
  outputs: Record<string, Record<string, Snapshot>>
}

interface HookResponse {
  outputs: Snapshot[]
  resyncAfterSeconds?: number
}

const apiVersion = 'volumesnapshot.external-storage.k8s.io/v1'
const kind = 'VolumeSnapshot'
const units: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses a duration such as 6h. Returns milliseconds. */
function milliseconds(duration: string): number {
  return Number(duration.slice(0, -1)) * (units[duration.slice(-1)] ?? Number.NaN)
}

/** Returns the snapshots whose time to live has not ended. */
function alive({ parent, outputs }: HookRequest, now: number): Snapshot[] {
  const oldest = now - milliseconds(parent.spec.snapshotTTL)
  return Object.values(outputs[`${kind}.${apiVersion}`] ?? {}).filter(({ spec }) => Date.parse(spec.takenAt) > oldest)
}

/** Returns the snapshots of a claim: those whose time to live has not ended, and a new one when it is due. */
export function map(request: HookRequest, now: number): HookResponse {
  const { parent, input } = request
  const kept = alive(request, now)
  const newest = Math.max(-Infinity, ...kept.map(({ spec }) => Date.parse(spec.takenAt)))
  const due = newest + milliseconds(parent.spec.snapshotInterval)
  if (due > now) return { outputs: kept, resyncAfterSeconds: (due - now) / 1_000 }
  const takenAt = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  const name = `${parent.metadata.name}-${input.metadata.name}-${takenAt.replaceAll(/\D/g, '')}`
  return {
    outputs: [
      ...kept,
      { apiVersion, kind, metadata: { name }, spec: { persistentVolumeClaimName: input.metadata.name, takenAt } },
    ],
  }
}

/** Returns the snapshots of a deleted claim that are kept: those whose time to live has not ended. */
export function tombstone(request: HookRequest, now: number): HookResponse {
  return { outputs: alive(request, now) }
}

/** Serves both hooks. Port 0 takes a free one. */
export async function start({ port = 0, now = Date.now }: { port?: number; now?: () => number } = {}): Promise<{
  port: number
  close(): Promise<void>
}> {
  const server = createServer((request, response) => {
    void respond(request, now()).then(
      (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(400).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => (server.close(() => resolve()), server.closeAllConnections()))
  return { port: (server.address() as AddressInfo).port, close }
}

async function respond(request: IncomingMessage, now: number): Promise<HookResponse> {
  const body = JSON.parse(Buffer.concat(await request.toArray()).toString()) as HookRequest
  return request.url === '/tombstone' ? tombstone(body, now) : map(body, now)
}

if (import.meta.main) {
  const { port } = await start({ port: Number(process.env['PORT'] ?? 8080) })
  console.log(`Hooks of snapshotschedule-controller on port ${port}`)
}
