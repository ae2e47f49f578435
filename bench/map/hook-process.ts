// The hook of the benchmark, a process of its own: one output for each input, after a delay. Sends its port to its
// parent process, then its counts on demand.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HookCounts } from './measured-cluster.ts'

const delay = Number(process.argv[2] ?? 0)
let counts: HookCounts = { calls: 0, bytes: 0 }

const server = createServer((request, response) => {
  void request.toArray().then((chunks) => {
    const body = Buffer.concat(chunks)
    counts = { calls: counts.calls + 1, bytes: counts.bytes + body.length }
    const { input } = JSON.parse(body.toString('utf8')) as {
      input: { metadata: { name: string }; data: Record<string, string> }
    }
    const output = {
      apiVersion: 'bench.fairlead.dev/v1',
      kind: 'Copy',
      metadata: { name: input.metadata.name },
      spec: { version: input.data['version'], text: input.data['text'] },
    }
    const answer = (): void =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ outputs: [output] }))
    if (delay > 0) setTimeout(answer, delay)
    else answer()
  })
})

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('message', (message) => {
  if (message === 'reset') counts = { calls: 0, bytes: 0 }
  process.send?.({ counts })
})
process.on('disconnect', () => process.exit(0))
