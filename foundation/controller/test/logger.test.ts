import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { ApiServer } from '@fairlead/apiserver'
import { ConfigMap } from '@fairlead/client'
import { createLogger, Manager } from '@fairlead/controller'
import type { LogFields, Logger } from '@fairlead/controller'
import { expect, test } from 'vitest'
import { describeClusters } from '../../../test/support/clusters.ts'
import { sourceCondition } from '../../../test/support/source-condition.ts'

async function linesOf(log: (logger: Logger) => void): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = []
  log(await createLogger({ level: 'debug', write: (line) => void lines.push(JSON.parse(line)) }))
  return lines
}

function frozenError(): Error {
  const nested = Object.freeze({ message: 'not a real error', kind: 'Status' })
  return Object.freeze(Object.assign(new Error('refused'), { status: nested, code: 422 }))
}

describeClusters(({ open }) => {
  test('logs the error of a refused request, whose status is frozen', async () => {
    await using cluster = await open({ controllers: [] })
    const error: unknown = await cluster.client.get(ConfigMap, 'default/nope').catch((thrown: unknown) => thrown)
    const [line] = await linesOf((logger) => logger.warn('Reconcile failed', { error }))
    expect(line).toMatchObject({
      level: 'warn',
      msg: 'Reconcile failed',
      error: { name: 'StatusError', code: 404, message: 'configmaps "nope" not found' },
    })
  })
})

test('an error is logged with its causes and aggregated errors, frozen and circular ones included', async () => {
  const circular = new Error('outer')
  Object.assign(circular, { cause: circular })
  const [frozen, loop, many] = await linesOf((logger) => {
    logger.error('A', { error: frozenError() })
    logger.error('B', { err: circular })
    logger.error('C', { error: new AggregateError([frozenError()], 'both', { cause: 'a string' }) })
  })
  expect(frozen!['error']).toEqual({ name: 'Error', code: 422, message: 'refused', stack: expect.any(String) })
  expect(loop!['err']).toMatchObject({ message: 'outer', cause: { message: 'outer' } })
  expect(many!['error']).toMatchObject({ message: 'both', cause: 'a string', errors: [{ message: 'refused' }] })
})

test('a line whose fields cannot be written is written without them', async () => {
  const hostile: LogFields = {
    get broken(): string {
      throw new Error('a getter that throws')
    },
  }
  const lines = await linesOf((logger) => {
    logger.info('First', hostile)
    logger.child({ bad: hostile }).info('Second', {
      value: {
        toJSON: () => {
          throw new Error('no JSON')
        },
      },
    })
    logger.info('Third', { big: 10n })
  })
  expect(lines.map(({ msg }) => msg)).toEqual(['First', 'Second', 'Third'])
})

test('a logger that throws does not end a controller', async () => {
  const fail = (): never => {
    throw new Error('the log is full')
  }
  const broken: Logger = { debug: fail, info: fail, warn: fail, error: fail, child: fail }
  await using server = await ApiServer.start({ controllers: [] })
  const { promise, resolve } = Promise.withResolvers<void>()
  let runs = 0
  await using _manager = await Manager.start({
    client: server.client(),
    logger: broken,
    setup: (manager) =>
      manager
        .controller('settings')
        .for(ConfigMap)
        .reconcile(() => {
          if (++runs === 3) resolve()
          throw new Error('no luck')
        }),
  })
  await server.client().create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } })
  await promise
})

test.skipIf(!existsSync('/dev/full'))('a full disk under standard error loses log lines, not the process', () => {
  const program = `
import { createLogger } from '@fairlead/controller'
const logger = await createLogger()
for (let line = 0; line < 3; line++) logger.info('Line')
await new Promise((resolve) => setTimeout(resolve, 20))
logger.info('Last')
console.log('alive')
`
  const full = openSync('/dev/full', 'w')
  try {
    const args = [...sourceCondition, '--input-type=module', '-e', program]
    const { status, stdout } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', full],
    })
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'alive\n' })
  } finally {
    closeSync(full)
  }
})
