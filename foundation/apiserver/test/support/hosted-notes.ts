// A process of its own that hosts notes behind an APIService. Arguments: the file of its kubeconfig, the namespace of its Service `notes`, and the port.
// Prints a line of JSON when it is ready, and `stopped` once it has stopped after a SIGTERM.
import { parseArgs } from 'node:util'
import { readFileSync } from 'node:fs'
import { connect, parseKubeconfig } from '@fairlead/client'
import { createLogger } from '@fairlead/controller'
import { AggregatedServer } from '@fairlead/apiserver'
import { noteDefinition, NoteStorage } from './notes.ts'

const { positionals } = parseArgs({ allowPositionals: true })
const [kubeconfig = '', namespace = '', port = ''] = positionals
const client = await connect({ connection: await parseKubeconfig(readFileSync(kubeconfig, 'utf8')).connection() })
const server = await AggregatedServer.start({
  client,
  resources: [
    {
      definition: noteDefinition(),
      storage: new NoteStorage(),
      subresources: [
        {
          name: 'shout',
          get: async ({ key }) => ({
            chunks: (async function* () {
              for (const letter of key.name) yield Buffer.from(letter.toUpperCase())
            })(),
          }),
        },
      ],
    },
  ],
  serving: { service: { namespace, name: 'notes', port: Number(port) }, host: '127.0.0.1', port: Number(port) },
  log: await createLogger({ level: 'warn' }),
})
process.once('SIGTERM', () => {
  void server[Symbol.asyncDispose]()
    .then(() => client.transport[Symbol.asyncDispose]())
    .then(() => process.stdout.write('stopped\n', () => process.exit(0)))
})
const looking = setInterval(() => {
  if (server.problem !== undefined) return
  clearInterval(looking)
  process.stdout.write(`${JSON.stringify({ port: server.port, caBundle: server.caBundle })}\n`)
}, 20)
