// A server that does not respond, in a process in which nothing else goes on: no test runner, no connection.
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { sourceCondition } from '../../../test/support/source-condition.ts'

/** Returns a port on which nothing listens. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function run(body: string): Promise<object> {
  const program = `
import { connect, ConfigMap, Namespace } from '@fairlead/client'
const client = await connect({ connection: { server: 'https://127.0.0.1:${await deadPort()}' } })
${body}
console.log('done')
`
  const args = [...sourceCondition, '--input-type=module', '-e', program]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: import.meta.dirname })
  return { status, stdout, stderr }
}

test.each([
  ['get', "client.get(Namespace, 'default')"],
  ['list', 'client.list(Namespace)'],
  ['discovery', "client.apply({ apiVersion: 'example.com/v1', kind: 'Ship', metadata: { name: 'a' } })"],
  ['write', "client.delete(ConfigMap, 'default/a')"],
])('a %s without a server throws ConnectionFailed instead of ending the process', async (_name, call) => {
  const body = `await ${call}.catch(({ code, server }) => console.log(code, server === new URL(client.transport.address).host))`
  expect(await run(body)).toEqual({ status: 0, stdout: 'ConnectionFailed true\ndone\n', stderr: '' })
})

test('a watch without a server keeps the process alive and reports each attempt', async () => {
  const body = `
let attempts = 0
for await (const change of client.watch(Namespace)) {
  console.log(change.type, change.reason)
  if (++attempts === 2) break
}`
  const stdout = 'interrupted Failed\ninterrupted Failed\ndone\n'
  expect(await run(body)).toEqual({ status: 0, stdout, stderr: '' })
})

test('a reflector that a caller awaits keeps the process alive until it is aborted', async () => {
  const body = `
const stop = new AbortController()
let events = 0
await client.reflector(Namespace, {}, () => { if (++events === 2) stop.abort() }).run(stop.signal)`
  expect(await run(body)).toEqual({ status: 0, stdout: 'done\n', stderr: '' })
})
