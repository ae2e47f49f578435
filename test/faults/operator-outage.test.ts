// The operator of the tutorial, in a process of its own, while its API server is killed and started again.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ConfigMap, connect } from '@fairlead/client'
import { expect, test } from 'vitest'
import { stepsOf } from '../docs/tutorial.ts'
import { freePort } from '../support/free-port.ts'
import { patience } from '../support/until.ts'
import { UpProcess } from './up-process.ts'

const root = resolve(import.meta.dirname, '../..')
/** One capability: starting all of them takes most of the time. */
const minimal = ['--only', 'references']

test("the tutorial's operator survives the end of its API server and works on when there is one again", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-outage-'))
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(root, name), join(folder, name))
  for (const step of stepsOf(readFileSync(join(root, 'docs/tutorial/operator.md'), 'utf8')))
    if (step.do === 'save' && step.file.endsWith('.ts')) writeFileSync(join(folder, step.file), step.text)
  const data = join(folder, 'data')
  const args = ['--port', String(await freePort()), ...minimal]
  let server = await UpProcess.start(data, args)
  const operator = spawn(process.execPath, ['--conditions=@fairlead/source', join(folder, 'main.ts')], {
    env: { ...process.env, KUBECONFIG: server.kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(operator, 'exit')
  try {
    await once(operator.stdout, 'data')
    await server.kill()
    server = await UpProcess.start(data, args)
    const client = await connect({ file: server.kubeconfig })
    await client.apply({
      apiVersion: 'tutorial.example.com/v1',
      kind: 'Website',
      metadata: { name: 'home', namespace: 'default' },
      spec: { page: 'Ahoy' },
    })
    await client.waitFor(ConfigMap, 'default/home', () => true, { timeout: patience })
    await client.transport[Symbol.asyncDispose]()
    // Also without a server to say goodbye to.
    await server.kill()
    operator.kill('SIGINT')
    expect(await exited).toEqual([0, null])
  } finally {
    operator.kill('SIGKILL')
    await server.stop().catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  }
})
