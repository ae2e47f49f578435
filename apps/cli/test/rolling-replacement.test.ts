// Replicas of `fairlead run` are replaced one by one while the objects that they work on change. Both generations are
// the same build: that of an older version beside this one is test/long/run/upgrade.ts.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { installDefinitions } from '@fairlead/controller'
import { metacontroller } from '@fairlead/metacontroller'
import { supply } from '@fairlead/supply'
import { DerivedWork } from '../../../test/support/derived-work.ts'
import { Replica } from '../../../test/support/replica.ts'
import { ready, replaceEach } from '../../../test/support/rolling-replacement.ts'
import { runAccount } from '../../../test/support/run-account.ts'
import { RunProcess } from '../../../test/support/run-process.ts'

const capabilities = [metacontroller, supply]
const folder = mkdtempSync(join(tmpdir(), 'fairlead-rolling-'))
const kubeconfig = join(folder, 'kubeconfig')

afterAll(() => rmSync(folder, { recursive: true }))

test.each([
  ['a leader and its stand-by', []],
  ['replicas that share four shards', ['--shards', '4']],
])('loses nothing and makes nothing twice while it replaces %s', async (_, flags) => {
  await using server = await ApiServer.start({ authorization: 'RBAC' })
  const { url, certificateAuthority: ca } = await server.listen()
  const admin = server.client({ manager: 'kubectl' })
  await installDefinitions(
    admin,
    capabilities.flatMap(({ crds }) => crds),
  )
  writeFileSync(kubeconfig, (await runAccount(admin, { url, ca }, capabilities)).kubeconfig)
  await using work = await DerivedWork.begin(admin)
  const start = (): Promise<Replica> =>
    Replica.start(() =>
      RunProcess.start(['--kubeconfig', kubeconfig, '--only', 'map,supply', '--webhooks=false', ...flags]),
    )
  await using first = await start()
  await using second = await start()
  await Promise.all([ready(first), ready(second)])
  work.startLoad()
  const replaced = await replaceEach([first, second], start)
  await work.stopLoad()
  await work.settled()
  expect(work.problems).toEqual([])
  for (const replica of replaced) expect(await replica.stop()).toBe(0)
})
