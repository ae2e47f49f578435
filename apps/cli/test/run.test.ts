// `fairlead run` in a process of its own, as a service account with the rights that are printed for it and no more, against the
// embedded server over HTTPS.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actions } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import { Lease, Namespace, kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { metacontroller } from '@fairlead/metacontroller'
import { packages } from '@fairlead/packages'
import { references } from '@fairlead/references'
import { manifest, manifests } from '../../../examples/stage.ts'
import { runAccount } from '../../../test/support/run-account.ts'
import { RunProcess } from '../../../test/support/run-process.ts'
import { eventually } from '../../../test/support/until.ts'
import { defaultsOf } from '../src/install/manifests.ts'
import { fairlead } from './support/command.ts'

const examples = join(import.meta.dirname, '../../../examples')
const example = join(examples, 'secret-propagation/manifests')
const folder = mkdtempSync(join(tmpdir(), 'fairlead-run-'))
const adminFile = join(folder, 'admin')
const accountFile = join(folder, 'account')
const lease = { namespace: 'fairlead-system', name: 'fairlead' }
const flags = ['--kubeconfig', accountFile, '--only', 'map']

const Secret = kind('v1', 'Secret')
const MapController = kind<KubeObject & { readonly status?: { readonly conditions?: readonly object[] } }>(
  'metacontroller.k8s.io/v1alpha1',
  'MapController',
)

let server: ApiServer
let admin: Client
let token: string

beforeAll(async () => {
  server = await ApiServer.start({ authorization: 'RBAC' })
  const { kubeconfig, url, certificateAuthority: ca } = await server.listen()
  admin = server.client({ manager: 'kubectl' })
  writeFileSync(adminFile, kubeconfig)
  const account = await runAccount(admin, { url, ca }, [metacontroller, references, actions, packages])
  token = account.token
  writeFileSync(accountFile, account.kubeconfig)
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

test.each([
  [
    ['--kubeconfig', adminFile, '--only', 'references'],
    3,
    /the cluster has no CustomResourceDefinitions for\n {2}references: .*referencerules\.references\.fairlead\.dev.*\nInstall them with `fairlead install --only references \| kubectl apply --server-side -f -`, or start with --install-crds\.\n$/,
  ],
  [['--shards', '0'], 2, /^fairlead: --shards 0: write a number from 1 to 1024/],
  [['--run-jobs', 'process'], 2, /^fairlead: run has no --run-jobs: the cluster runs Jobs/],
  [['--leader-elect=maybe'], 2, /Allowed choices are true, false/],
  [['--only', 'maps'], 2, /^fairlead: --only maps: there is no capability maps/],
  [
    ['--only', 'map', '--set', 'map.no=1', '--kubeconfig', adminFile],
    2,
    /^fairlead: --set metacontroller\.no: there is/,
  ],
])('run %j ends with %i', async (args, code, stderr) => {
  expect(await fairlead(['run', ...args])).toEqual({
    code,
    stdout: '',
    stderr: expect.stringMatching(stderr) as string,
  })
})

test('keeps the certificates of its Service in a Secret, with webhooks or without: Prometheus knows it by them', async () => {
  await installDefinitions(admin, metacontroller.crds)
  await using running = await RunProcess.start([...flags, '--service', 'fairlead', '--webhooks=false'])
  const { data } = (await admin.get(Secret, 'fairlead-system/fairlead-webhook-tls')) as KubeObject & {
    readonly data: Readonly<Record<string, string>>
  }
  const ca = Buffer.from(data['ca.crt']!, 'base64').toString()
  const socket = connect({ port: running.port, ca, servername: 'fairlead.fairlead-system.svc' })
  await once(socket, 'secureConnect')
  socket.destroy()
  expect(await running.stop()).toBe(0)
})

test('runs an example with exactly the printed rights, hands over, and ends when it loses the Lease', async () => {
  await installDefinitions(admin, metacontroller.crds)
  await using first = await RunProcess.start(flags)
  const apply = async (file: string): Promise<void> => {
    for (const object of manifest(join(example, file)))
      if (object.kind === 'CustomResourceDefinition') await installDefinitions(admin, [object])
      else await admin.apply(object)
  }
  for (const file of ['1-crd.yaml', '3-controller.yaml', '4-namespaces.yaml', '5-secret.yaml']) await apply(file)
  // The rights of its kinds are missing: a condition names the first of them, and nothing ends.
  await eventually(async () =>
    expect((await admin.get(MapController, 'secret-propagation')).status?.conditions).toContainEqual(
      expect.objectContaining({
        status: 'False',
        message: expect.stringMatching(/cannot (list|watch) resource "secretpropagations"/) as string,
      }),
    ),
  )
  const controller = join(example, '3-controller.yaml')
  const printed = await fairlead(['map', 'rbac', '-f', controller, '--kubeconfig', adminFile])
  writeFileSync(join(folder, 'rights.yaml'), printed.stdout)
  for (const role of manifest(join(folder, 'rights.yaml'))) await admin.apply(role)
  const copy = (namespace: string): Promise<KubeObject> => admin.get(Secret, { namespace, name: 'shared' })
  await eventually(() => Promise.all([copy('team-a'), copy('team-b')]))

  await eventually(async () => expect(await first.get('/readyz')).toEqual([200, 'ok']))
  expect((await first.get('/metrics'))[0]).toBe(401)
  expect((await first.get('/metrics', token))[0]).toBe(403)

  await using second = await RunProcess.start(flags)
  expect(second.has('Became leader')).toBe(false)
  expect(await first.stop()).toBe(0)
  expect(first.lines.at(-1)).toMatchObject({ msg: 'Stopping', signal: 'SIGTERM' })
  await eventually(async () =>
    expect((await admin.get(Lease, lease)).spec).toMatchObject({ holderIdentity: second.identity }),
  )
  await admin.patch(Namespace, 'team-c', { merge: { metadata: { labels: { receives: 'shared-secret' } } } })
  await eventually(() => copy('team-c'))

  await admin.patch(Lease, lease, { merge: { spec: { holderIdentity: 'another', leaseDurationSeconds: 600 } } })
  expect(await second.ended()).toBe(4)
  expect(second.lines.at(-1)).toMatchObject({
    level: 'error',
    msg: expect.stringMatching(/^Lost leadership/) as string,
  })
})

test('writes as the service account that a rule names, with exactly the printed rights', async () => {
  await installDefinitions(admin, references.crds)
  for (const object of manifests(join(examples, 'database-host')))
    if (object.kind === 'CustomResourceDefinition') await installDefinitions(admin, [object])
    else await admin.apply(object)
  const database = { apiVersion: 'examples.fairlead.dev/v1', kind: 'Database' }
  const status = { host: 'main.db.example.com' }
  await admin.apply({ ...database, metadata: { namespace: 'team-a', name: 'main' }, status } as KubeObject, {
    subresource: 'status',
    manager: 'operator',
  })
  await using running = await RunProcess.start(['--kubeconfig', accountFile, '--only', 'refs', '--service', 'second'])
  await eventually(async () =>
    expect((await admin.get({ ...database, kind: 'App' }, 'team-a/shop'))['spec']).toMatchObject({
      databaseHost: 'main.db.example.com',
    }),
  )
  expect(await running.stop()).toBe(0)
})

test('completes default objects, and refuses repositories that would be lost with the process', async () => {
  for (const { crds } of [actions, packages]) await installDefinitions(admin, crds)
  // What `fairlead install` prints; the mapping is of a kind that is not served in the same apply.
  for (const object of defaultsOf(actions)) await admin.apply(object, { manager: 'kubectl' })
  const Repository = kind<KubeObject>('config.porch.kpt.dev/v1alpha1', 'Repository')
  const blueprints = {
    apiVersion: Repository.apiVersion,
    kind: 'Repository',
    metadata: { namespace: 'team-a', name: 'b' },
  }
  const hook = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'team-a', name: 'hook' } }
  await admin.apply({ ...hook, stringData: { 'webhook-secret': 'shared' } } as KubeObject)
  await admin.apply({ ...blueprints, spec: { type: 'git', git: { secretRef: { name: 'hook' } } } } as KubeObject)
  const args = ['--kubeconfig', accountFile, '--only', 'actions,packages', '--service', 'third', '--webhooks=false']
  await using running = await RunProcess.start(args)
  await eventually(() => admin.get(kind('actions.kappnav.io/v1', 'KindActionMapping'), 'kappnav/default'))
  await eventually(async () =>
    expect((await admin.get(Repository, 'team-a/b'))['status']).toMatchObject({
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Unsupported', message: expect.stringMatching(/--data on a volume/) },
      ],
    }),
  )
  const webhook = (token: string): Promise<number> =>
    running.post('/webhooks/git/team-a/b', { 'x-gitlab-token': token }).then(([status]) => status)
  expect([await webhook('guessed'), await webhook('shared')]).toEqual([401, 202])
  expect(await running.stop()).toBe(0)
})
