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

test.each([
  [undefined, 'ConfigMap default/never is not as expected after 4 s: it does not exist\n'],
  ['50', 'ConfigMap default/never is not as expected after 0.05 s: it does not exist\n'],
])('waitFor without a timeout ends before a test of vitest does; FAIRLEAD_WAIT_TIMEOUT=%s', (wait, message) => {
  const waits = `
import { ApiServer } from '@fairlead/apiserver'
import { ConfigMap } from '@fairlead/client'
const server = await ApiServer.start()
await server.client().waitFor(ConfigMap, 'default/never', () => true).catch(({ message }) => console.log(message))
await server[Symbol.asyncDispose]()
`
  const args = [...sourceCondition, '--input-type=module', '-e', waits]
  const { FAIRLEAD_WAIT_TIMEOUT: _own, ...env } = process.env
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    cwd: import.meta.dirname,
    env: wait === undefined ? env : { ...env, FAIRLEAD_WAIT_TIMEOUT: wait },
  })
  expect({ stdout, stderr }).toEqual({ stdout: message, stderr: '' })
})
