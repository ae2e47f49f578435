// Remotes over HTTPS and ssh that fail in every way: the status says what is wrong, revisions and drafts stay, nothing is
// half written, and all is well once the remote is.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PackageRevisionKind, RepositoryKind } from '@fairlead/packages'
import type { Repository } from '@fairlead/packages'
import { HttpsGitServer, SshStub } from './faulty-remotes.ts'
import type { HttpsFault, SshFault } from './faulty-remotes.ts'
import { conditionOf, git, refsOf, Stage } from './stage.ts'

type Transport = 'https' | 'ssh'

let stage: Stage
let server: HttpsGitServer
let ssh: SshStub

beforeAll(async () => {
  stage = await Stage.start()
  await stage.stopCapability()
  await stage.startCapability(undefined, 2)
  server = await HttpsGitServer.start(stage.folder)
  ssh = new SshStub(stage.folder)
  const data = { 'ca.crt': Buffer.from(server.authority).toString('base64') }
  const metadata = { name: 'authority', namespace: 'team-a' }
  await stage.client.create({ apiVersion: 'v1', kind: 'Secret', metadata, data } as never)
  for (const name of ['https', 'ssh'] as const) {
    git(stage.bareRepository(name), 'config', 'http.receivepack', 'true')
    const ready = await stage.register(name, remoteOf(name))
    expect(conditionOf(ready)).toEqual(['True', 'Ready', 'Repository Ready'])
    await stage.create(name, 'shop', 'one', undefined, { metadata: { labels: { team: 'a' } } })
    await readAgain(name, (object) => isReady(object) && object.status?.packageCount === 1)
    await stage.publish(name, 'web', 'one')
  }
})

afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  ssh[Symbol.dispose]()
})

function remoteOf(name: Transport): { readonly repo: string; readonly secretRef?: { readonly name: string } } {
  return name === 'https'
    ? { repo: `${server.url}/https.git`, secretRef: { name: 'authority' } }
    : { repo: `ssh://git@127.0.0.1${stage.folder}/ssh.git` }
}

let reads = 0

/** Has a repository read again, and returns it as soon as `holds` is true of it. */
async function readAgain(name: string, holds: (object: Repository) => boolean): Promise<Repository> {
  const annotations = { read: String(reads++) }
  await stage.client.patch(RepositoryKind, `team-a/${name}`, { merge: { metadata: { annotations } } })
  return stage.repository(name, holds)
}

const isReady = (object: Repository): boolean => conditionOf(object)?.[1] === 'Ready'

async function served(): Promise<readonly string[]> {
  const { items } = await stage.client.list(PackageRevisionKind, { namespace: 'team-a' })
  return items.map(({ metadata, spec }) => `${metadata.name} ${spec.lifecycle}`).sort()
}

/** Reason and a part of the message of each fault. */
const https: readonly (readonly [HttpsFault, string, RegExp])[] = [
  ['hangs', 'Timeout', /did not finish within 2 s/],
  ['resets connections', 'Unreachable', /unable to access/],
  ['asks for credentials', 'AuthenticationFailed', /could not read Username|Authentication failed/],
  ['forbids it', 'AuthenticationFailed', /403/],
  ['has no such repository', 'RepositoryNotFound', /not found/],
  ['is overloaded', 'Unreachable', /503/],
  ['redirects to another host', 'UnsupportedAddress', /redirects are not followed: write the address/],
  ['answers with a page', 'RepositoryNotFound', /is this a git repository/],
  ['damages packs', 'Corrupt', /inflate|corrupt|bad object/],
  ['cuts packs', 'Unreachable', /early EOF|hung up|RPC failed/],
  ['sends a byte at a time', 'Timeout', /did not finish within 2 s/],
]

const overSsh: readonly (readonly [SshFault, string, RegExp])[] = [
  ['hangs', 'Timeout', /did not finish within 2 s/],
  ['refuses connections', 'Unreachable', /Connection refused/],
  ['refuses the key', 'AuthenticationFailed', /Permission denied/],
  ['has another host key', 'AuthenticationFailed', /Host key verification failed/],
  ['has no such repository', 'RepositoryNotFound', /does not appear to be a git repository/],
  ['breaks off', 'Unreachable', /hung up|early EOF|expected flush/],
  ['stops reading', 'Unreachable', /the other end hung up/],
  ['sends a byte at a time', 'Timeout', /did not finish within 2 s/],
]

test.each([...https.map((row) => ['https', ...row] as const), ...overSsh.map((row) => ['ssh', ...row] as const)])(
  'loses nothing when a remote over %s %s, and says so',
  async (name, fault, reason, message) => {
    const folder = `${stage.folder}/${name}.git`
    const before = await served()
    const refs = refsOf(folder)
    // Something to fetch, so that packs are sent.
    const commit = git(folder, 'commit-tree', '-p', 'main', '-m', fault, 'main^{tree}').trim()
    git(folder, 'update-ref', 'refs/heads/main', commit)
    setFault(name, fault)
    const failed = await readAgain(name, (object) => !['Ready', 'Reconciling'].includes(conditionOf(object)?.[1] ?? ''))
    expect(conditionOf(failed)).toEqual(['False', reason, expect.stringMatching(message)])
    expect(await served()).toEqual(before)
    // Damaged packs that are sent to us do not concern what we send.
    const isWritable = fault.endsWith('packs')
    if (!isWritable) await expect(stage.setLifecycle(`${name}.shop.one`, 'Proposed')).rejects.toThrow()
    setFault(name, undefined)
    await readAgain(name, isReady)
    expect([await served(), refsOf(folder)]).toEqual([before, refs])
    expect((await stage.revision(`${name}.shop.one`)).metadata.labels).toEqual({ team: 'a' })
    git(folder, 'fsck', '--full', '--no-dangling')
  },
)

function setFault(name: Transport, fault: string | undefined): void {
  if (name === 'https') server.fault = fault as HttpsFault | undefined
  else ssh.fault = fault as SshFault | undefined
}

test('says within a second that a remote hangs, and serves what was read before', async () => {
  const { repo } = remoteOf('https')
  setFault('https', 'hangs')
  const late = await readAgain('https', (object) => conditionOf(object)?.[1] === 'Reconciling')
  expect(conditionOf(late)).toEqual([
    'True',
    'Reconciling',
    `The revisions of ${late.status?.lastFullSyncTime} are served. git has not read ${repo} yet; it is given up after 2 s`,
  ])
  const [ready] = late.status?.conditions ?? []
  expect([late.status?.packageCount, ready?.observedGeneration]).toEqual([3, late.metadata.generation])
  const other = await stage.client.create<Repository>({
    apiVersion: 'config.porch.kpt.dev/v1alpha1',
    kind: 'Repository',
    metadata: { name: 'other', namespace: 'team-a' },
    spec: { type: 'git', git: { ...remoteOf('https'), branch: 'other' } },
  })
  const first = await stage.repository('other', (object) => conditionOf(object) !== undefined)
  expect(conditionOf(first)).toEqual(['False', 'Reconciling', `git has not read ${repo} yet; it is given up after 2 s`])
  setFault('https', undefined)
  await stage.client.delete(RepositoryKind, 'team-a/other', { preconditions: { uid: other.metadata.uid } })
  await readAgain('https', isReady)
})

test('tells a page from an empty repository when an address is registered', async () => {
  git(stage.bareRepository('empty'), 'config', 'http.receivepack', 'true')
  const address = { ...remoteOf('https'), repo: `${server.url}/empty.git` }
  setFault('https', 'answers with a page')
  const page = await stage.register('page', address)
  expect(conditionOf(page)).toEqual([
    'False',
    'RepositoryNotFound',
    `${address.repo} answers, but not as a git server does: is this a git repository?`,
  ])
  expect([page.status?.packageCount, page.status?.lastFullSyncTime]).toEqual([undefined, undefined])
  setFault('https', undefined)
  await readAgain('page', isReady)
  expect(conditionOf(await stage.register('empty', address))).toEqual(['True', 'Ready', 'Repository Ready'])
  await stage.create('empty', 'web', 'one')
  expect(refsOf(`${stage.folder}/empty.git`)).toEqual(['refs/heads/drafts/web/one'])
})

test('keeps the labels of a draft whose push arrived although its answer was lost', async () => {
  setFault('https', 'loses the answer of a push')
  const metadata = { labels: { team: 'b' } }
  await expect(stage.create('https', 'lost', 'one', undefined, { metadata })).rejects.toMatchObject({
    status: { code: 503 },
  })
  setFault('https', undefined)
  await readAgain('https', (object) => isReady(object) && object.status?.packageCount === 4)
  expect((await stage.revision('https.lost.one')).metadata.labels).toEqual({ team: 'b' })
})
