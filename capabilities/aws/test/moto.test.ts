// The sagemaker example against moto, an emulator of AWS in Python, where `moto_server` is installed: in `npm run
// test:long`, as Python takes its time.
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isNotFound } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { manifest } from '../../../examples/stage.ts'
import { eventually } from '../../../test/support/until.ts'
import { Stage } from './stage.ts'
import type { StageKind } from './stage.ts'
import { freePort } from '../../../test/support/free-port.ts'

const isWanted = process.env['FAIRLEAD_MOTO'] === '1'
const isInstalled = isWanted && spawnSync('moto_server', ['--help'], { timeout: 60_000 }).status === 0
if (isWanted && !isInstalled) console.log('skipped: moto_server is not installed (pip install "moto[server]")')
const file = fileURLToPath(new URL('../../../examples/sagemaker/manifests/endpoint.yaml', import.meta.url))
const kinds: readonly StageKind[] = ['Policy', 'Role', 'Model', 'EndpointConfig', 'Endpoint']

test.runIf(isInstalled)('the sagemaker example is ready on moto, and is deleted from it', async () => {
  await using cleanup = new AsyncDisposableStack()
  const port = await freePort()
  const moto = spawn('moto_server', ['-H', '127.0.0.1', '-p', `${port}`], { stdio: 'ignore' })
  cleanup.defer(() => void moto.kill())
  const endpoint = `http://127.0.0.1:${port}`
  await eventually(async () => expect((await fetch(`${endpoint}/moto-api/data.json`)).status).toBe(200), 100)
  const stage = cleanup.use(await Stage.start({ endpoint }))
  const objects = manifest(file)
  await stage.apply(...objects)
  for (const kind of kinds)
    await stage.until(async () =>
      expect(await stage.condition(kind, 'default/churn', 'Ready')).toMatchObject({ status: 'True' }),
    )
  expect((await stage.object('Endpoint', 'default/churn')).status).toMatchObject({ endpointStatus: 'InService' })
  for (const object of objects.toReversed())
    await stage.during(stage.client.delete(object, `default/${object.metadata.name}`))
  for (const kind of kinds)
    await stage.until(async () =>
      expect(await stage.object(kind, 'default/churn').then(() => 'there', isNotFound)).toBe(true),
    )
})
