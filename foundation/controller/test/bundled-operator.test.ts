// An operator in one file, as images without node_modules have it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer } from '@fairlead/apiserver'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'
import { sourceCondition } from '../../../test/support/source-condition.ts'

/** What is bundled is what is tested: the sources, or what was built. */
const sourceConditions = sourceCondition.map((flag) => flag.replace('--conditions=', ''))

const operator = `
import { ConfigMap, connect } from '@fairlead/client'
import { Manager, createLogger } from '@fairlead/controller'

const client = await connect({ file: process.argv[2] })
const logger = await createLogger({ level: 'error' })
const manager = await Manager.start({
  client,
  logger,
  setup: (starting) =>
    starting.controller('labels').for(ConfigMap).reconcile(async ({ object, client: own }) => {
      const { name, namespace } = object.metadata
      await own.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, labels: { seen: 'true' } } })
    }),
})
await client.waitFor(ConfigMap, 'default/otter', ({ metadata }) => metadata.labels?.seen === 'true')
console.log((await manager.metrics.text()).includes('controller_runtime_reconcile_total'))
await manager.stop()
process.exit()
`

test('a bundled operator runs without node_modules', async () => {
  await using server = await ApiServer.start()
  const { kubeconfig } = await server.listen()
  await server
    .client()
    .create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'otter' } })
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bundle-'))
  try {
    writeFileSync(join(folder, 'kubeconfig'), kubeconfig)
    const build = await rolldown({
      input: 'operator',
      platform: 'node',
      resolve: { conditionNames: [...sourceConditions, 'node', 'import', 'default'] },
      plugins: [
        {
          name: 'operator',
          resolveId: (id) => (id === 'operator' ? join(import.meta.dirname, 'operator.js') : null),
          load: (id) => (id === join(import.meta.dirname, 'operator.js') ? operator : null),
        },
      ],
    })
    await build.write({ dir: folder, format: 'esm', entryFileNames: 'main.mjs', codeSplitting: false })
    await build.close()
    // Not spawnSync: the server is in this process.
    const child = spawn(process.execPath, ['main.mjs', join(folder, 'kubeconfig')], { cwd: folder })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    await once(child, 'close')
    expect({ stdout, stderr }).toEqual({ stdout: 'true\n', stderr: '' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
