// The hook of the benchmark, a process of its own: returns the children that the spec of the parent asks for. Sends its
// port to the process that started it, then on demand its counts since the last reset.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '@fairlead/kube'
import type { HookCounts } from './cluster.ts'

/** The spec of a parent. */
export interface ParentSpec {
  /** Number of Boats. */
  readonly boats?: number
  /** A child as it is. */
  readonly child?: JsonObject
}

let counts: HookCounts = { calls: 0, bytes: 0 }
const text = 'x'.repeat(300)

function childrenOf(name: string, { boats = 0, child }: ParentSpec): readonly JsonObject[] {
  if (child !== undefined) return [child]
  return Array.from({ length: boats }, (_, index) => ({
    apiVersion: 'bench.fairlead.dev/v1',
    kind: 'Boat',
    metadata: { name: `${name}-${index}` },
    spec: { version: 'wanted', text },
  }))
}

const server = createServer((request, response) => {
  void request.toArray().then((chunks) => {
    const body = Buffer.concat(chunks)
    counts = { calls: counts.calls + 1, bytes: counts.bytes + body.length }
    const { parent } = JSON.parse(body.toString('utf8')) as { parent: { metadata: { name: string }; spec: ParentSpec } }
    const children = childrenOf(parent.metadata.name, parent.spec)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ status: { wanted: children.length }, children }))
  })
})

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('message', (message) => {
  if (message === 'reset') counts = { calls: 0, bytes: 0 }
  process.send?.({ counts })
})
process.on('disconnect', () => process.exit(0))
