// A process that serves the hook programs of a folder: `<name>.js` (a function of a context, as fission calls it) and
// `<name>.jsonnet` (a function of the request, evaluated by the program `jsonnet`) at `/<name>`. Prints its port.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Reply {
  readonly status: number
  readonly body: unknown
}
type Program = (context: { readonly request: { readonly body: unknown } }) => Promise<Reply>

const folder = process.argv[2] ?? '.'
const load = createRequire(import.meta.url)

async function reply(name: string, text: string): Promise<Reply> {
  const script = join(folder, `${name}.js`)
  if (existsSync(script)) return (load(script) as Program)({ request: { body: JSON.parse(text) } })
  const expression = join(folder, `${name}.jsonnet`)
  if (existsSync(expression)) return { status: 200, body: await evaluate(expression, text) }
  return { status: 404, body: `there is no hook ${name}` }
}

/** Evaluates a function of jsonnet with the request as its argument. */
async function evaluate(expression: string, request: string): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), 'fairlead-jsonnet-'))
  try {
    const file = join(scratch, 'request.json')
    writeFileSync(file, request)
    const child = spawn('jsonnet', ['--tla-code-file', `request=${file}`, expression], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const chunks = child.stdout.toArray()
    const [code] = (await once(child, 'close')) as [number]
    if (code !== 0) throw new Error(`jsonnet ended with ${code}`)
    return Buffer.concat(await chunks).toString('utf8')
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const server = createServer((request, response) => {
  const name = (request.url ?? '').slice(1)
  void request
    .toArray()
    .then((chunks) => reply(name, Buffer.concat(chunks).toString('utf8')))
    .catch((error: unknown) => ({ status: 500, body: String(error) }))
    .then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
})
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`))
