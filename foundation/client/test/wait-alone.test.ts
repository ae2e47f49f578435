// Waiting in a process in which nothing else goes on: no test runner, no connection.
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { sourceCondition } from '../../../test/support/source-condition.ts'

const program = `
import { ApiServer } from '@fairlead/apiserver'
import { Namespace } from '@fairlead/client'
const server = await ApiServer.start({ controllerDelay: 300 })
const client = server.client()
await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'harbour' } })
await client.delete(Namespace, 'harbour')
await client.waitForDeletion(Namespace, 'harbour')
console.log('gone')
await client.waitFor(Namespace, 'never', () => true, { timeout: 200 }).catch(({ code }) => console.log(code))
await server[Symbol.asyncDispose]()
`

test('waitFor keeps the process alive while it waits, and no longer', () => {
  const args = [...sourceCondition, '--input-type=module', '-e', program]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: import.meta.dirname })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'gone\nWaitTimeout\n', stderr: '' })
})
