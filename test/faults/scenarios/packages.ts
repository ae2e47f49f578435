// Repositories under faults: a remote one with credentials to which others push meanwhile and where a user works on
// drafts, one whose branch is force-pushed, a managed one, one that is deleted and one that is created.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kind, systemClock } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { PackageRevisionKind, PackageRevisionResourcesKind, packages, RepositoryKind } from '@fairlead/packages'
import type { PackageRevision, Task } from '@fairlead/packages'
import { isConflict, StatusError } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { Scenario } from '../scenario.ts'

const namespace = 'default'
const PackageRevKind = kind('config.porch.kpt.dev/v1alpha1', 'PackageRev', { plural: 'packagerevs', namespaced: true })

const folder = mkdtempSync(join(tmpdir(), 'fairlead-scenario-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const remote = join(folder, 'remote.git')
const rewritten = join(folder, 'rewritten.git')

/** One commit of a package: on a branch, and with the tag of its revision. */
interface Commit {
  readonly branch: string
  readonly name: string
  readonly revision?: number
  /** Begins a history of its own. */
  readonly isRoot?: boolean
  readonly content: string
}

/** Pushes commits to a repository, and deletes branches. */
function push(repository: string, commits: readonly Commit[], deleted: readonly string[] = []): void {
  const lines = commits.flatMap(({ branch, name, revision, isRoot, content }, index) => {
    const kptfile = `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: ${name}\n`
    return [
      `commit refs/heads/${branch}`,
      `mark :${index + 1}`,
      'committer Ann <ann@example.test> 1700000000 +0000',
      'data 6',
      'Change',
      ...(isRoot === true ? [] : [`from ${onMain(commits.slice(0, index))}`]),
      `M 100644 inline ${name}/Kptfile`,
      `data ${kptfile.length}`,
      kptfile,
      `M 100644 inline ${name}/content`,
      `data ${content.length}`,
      content,
      ...(revision === undefined ? [] : [`reset refs/tags/${name}/v${revision}`, `from :${index + 1}`, '']),
    ]
  })
  const resets = deleted.flatMap((branch) => [`reset refs/heads/${branch}`, `from ${'0'.repeat(40)}`, ''])
  execFileSync('git', ['fast-import', '--quiet', '--force'], {
    cwd: repository,
    input: [...lines, ...resets, ''].join('\n'),
    stdio: ['pipe', 'ignore', 'pipe'],
  })
}

/** Returns the head of main after commits, as `git fast-import` names it. */
function onMain(before: readonly Commit[]): string {
  const last = before.findLastIndex(({ branch }) => branch === 'main')
  return last < 0 ? 'refs/heads/main^0' : `:${last + 1}`
}

function repository(name: string, git: object, sync?: object): KubeObject {
  return {
    apiVersion: 'config.porch.kpt.dev/v1alpha1',
    kind: 'Repository',
    metadata: { name, namespace },
    spec: { type: 'git', git, ...(sync !== undefined && { sync }) },
  } as KubeObject
}

/** The labels of a revision, as the server keeps them. */
function labelled(name: string): KubeObject {
  const { apiVersion } = PackageRevKind
  const spec = { metadata: { labels: { team: name } } }
  return { apiVersion, kind: 'PackageRev', metadata: { name, namespace }, spec } as KubeObject
}

/** Deletes a Repository as it is now; the controller may write its status meanwhile. */
async function remove(client: Client, name: string): Promise<void> {
  for (;;) {
    const { uid, resourceVersion } = (await client.get(RepositoryKind, { namespace, name })).metadata
    try {
      return void (await client.delete(
        RepositoryKind,
        { namespace, name },
        { preconditions: { uid, resourceVersion } },
      ))
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

/** A write that may be repeated: it does what is not done yet. */
type Write = (client: Client) => Promise<unknown>

const created =
  (repo: string, task?: Task): Write =>
  async (client) => {
    const name = `${repo}.cart.one`
    if ((await client.find(PackageRevisionKind, { namespace, name })) !== undefined) return
    const tasks = task === undefined ? {} : { tasks: [task] }
    await client.create<PackageRevision>({
      apiVersion: PackageRevisionKind.apiVersion,
      kind: 'PackageRevision',
      metadata: { namespace, labels: { team: name } },
      spec: { repository: repo, packageName: 'cart', workspaceName: 'one', ...tasks },
    })
  }

const moved =
  (name: string, lifecycle: NonNullable<PackageRevision['spec']['lifecycle']>, subresource?: string): Write =>
  async (client) => {
    const revision = await client.get(PackageRevisionKind, { namespace, name })
    if (revision.spec.lifecycle === lifecycle) return
    const wanted = { ...revision, spec: { ...revision.spec, lifecycle } }
    await client.update(wanted, subresource === undefined ? {} : { subresource })
  }

/** The writes of the user, in order. */
const writes: readonly Write[] = [
  async (client) => {
    const revision = await client.get(PackageRevisionKind, { namespace, name: 'blueprints.shop.one' })
    await client.update({ ...revision, metadata: { ...revision.metadata, labels: { team: 'user' } } })
  },
  async (client) => {
    const object = await client.get(PackageRevisionResourcesKind, { namespace, name: 'blueprints.shop.one' })
    const resources = { ...object.spec.resources, content: 'of the user' }
    await client.update({ ...object, spec: { ...object.spec, resources } })
  },
  moved('blueprints.shop.one', 'Proposed'),
  moved('blueprints.shop.one', 'Published', 'approval'),
  created('managed'),
  created('blueprints', { type: 'clone', clone: { upstreamRef: { upstreamRef: { name: 'blueprints.web.v1' } } } }),
  async (client) => {
    const name = 'blueprints.old.v1'
    if ((await client.find(PackageRevisionKind, { namespace, name })) === undefined) return
    await moved(name, 'DeletionProposed', 'approval')(client)
    await client.delete(PackageRevisionKind, { namespace, name })
  },
]

/** A user who repeats each write until the server has accepted it. Nothing that was accepted is written again. */
class User {
  accepted = 0
  readonly #stop = new AbortController()

  async write(client: Client): Promise<void> {
    for (const write of writes) {
      while (!(await this.#isAccepted(write(client)))) {
        if (this.#stop.signal.aborted) return
        await systemClock.sleep(20)
      }
      this.accepted++
    }
  }

  stop(): void {
    this.#stop.abort()
  }

  async #isAccepted(write: Promise<unknown>): Promise<boolean> {
    try {
      await write
      return true
    } catch (error) {
      if (error instanceof StatusError) return false
      throw error
    }
  }
}

let user = new User()

const revisions: readonly string[] = [
  'blueprints.cart.one',
  'blueprints.shop.main',
  'blueprints.shop.one',
  'blueprints.web.main',
  'blueprints.web.v1',
  'blueprints.web.v2',
  'managed.cart.one',
  'rewritten.api.main',
  'rewritten.api.v1',
]

/** Reports whether exactly these revisions are served, and exactly these Repositories are read. */
async function serves(client: Client, served: readonly string[], repositories: readonly string[]): Promise<boolean> {
  const [list, registered] = await Promise.all([client.list(PackageRevisionKind), client.list(RepositoryKind)])
  const ready = registered.items.filter(
    ({ metadata, status }) =>
      status?.observedGeneration === metadata.generation &&
      status?.conditions?.some(
        ({ type, status: value, reason }) => type === 'Ready' && value === 'True' && reason !== 'Reconciling',
      ) === true,
  )
  return namesOf(list.items) === served.join() && namesOf(ready) === repositories.join()
}

function namesOf(objects: readonly KubeObject[]): string {
  return objects
    .map(({ metadata }) => metadata.name)
    .sort()
    .join()
}

/** Returns what git and the server hold of the revisions, without times and commits. */
async function holdings(client: Client): Promise<JsonObject> {
  const [list, states] = await Promise.all([client.list(PackageRevisionKind), client.list(PackageRevKind)])
  const labels = list.items.map(({ metadata }) => [metadata.name!, metadata.labels?.['team'] ?? ''])
  const isDone = user.accepted === writes.length
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: remote, encoding: 'utf8' })
  return {
    accepted: user.accepted,
    labels: Object.fromEntries(labels) as JsonObject,
    states: namesOf(states.items),
    // The trees are the same in every run.
    refs: isDone ? git('for-each-ref', '--format=%(refname) %(tree)').trim().split('\n') : [],
  }
}

const blueprints = { repo: remote, secretRef: { name: 'robot' } }
const states = `/apis/config.porch.kpt.dev/v1alpha1/namespaces/${namespace}/packagerevs`

/** The scenario. */
export const packagesScenario: Scenario = {
  name: 'packages',
  capability: packages,
  definitions: [],
  grants: [],
  objects: [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'robot', namespace },
      data: { username: 'YQ==', password: 'Yg==' },
    } as KubeObject,
    ...['blueprints.web.v1', 'blueprints.dropped.one', 'blueprints.old.v1', 'rewritten.api.v1'].map(labelled),
    repository('blueprints', blueprints),
    repository('ends', {}),
    repository('managed', {}),
    repository('rewritten', { repo: rewritten }),
  ],
  deleted: [`${states}/blueprints.dropped.one`, `${states}/blueprints.old.v1`],
  mayDelete: ['blueprints.cart.one', 'managed.cart.one'].map((name) => `${states}/${name}`),
  lasting: {
    kind: PackageRevisionKind,
    keys: ['blueprints.web.main', 'blueprints.web.v1', 'rewritten.api.main', 'rewritten.api.v1'].map(
      (name) => `${namespace}/${name}`,
    ),
  },
  kinds: [RepositoryKind, PackageRevisionKind],
  prepare() {
    user.stop()
    user = new User()
    for (const path of [remote, rewritten]) {
      rmSync(path, { recursive: true, force: true })
      execFileSync('git', ['init', '--bare', '--quiet', '--template=', '-b', 'main', path])
    }
    push(remote, [
      { branch: 'main', name: 'web', revision: 1, content: '1', isRoot: true },
      { branch: 'main', name: 'old', revision: 1, content: '1' },
      { branch: 'drafts/shop/one', name: 'shop', content: 'draft' },
      { branch: 'drafts/dropped/one', name: 'dropped', content: 'draft' },
    ])
    push(rewritten, [{ branch: 'main', name: 'api', revision: 1, content: '1', isRoot: true }])
  },
  begins: (client) =>
    serves(
      client,
      [
        'blueprints.dropped.one',
        'blueprints.old.main',
        'blueprints.old.v1',
        'blueprints.shop.one',
        'blueprints.web.main',
        'blueprints.web.v1',
        'rewritten.api.main',
        'rewritten.api.v1',
      ],
      ['blueprints', 'ends', 'managed', 'rewritten'],
    ),
  async holds(client) {
    const { states: kept, accepted } = await holdings(client)
    return (
      accepted === writes.length &&
      kept === 'blueprints.cart.one,blueprints.shop.one,blueprints.web.v1,managed.cart.one,rewritten.api.v1' &&
      (await serves(client, revisions, ['begins', 'blueprints', 'managed', 'rewritten']))
    )
  },
  outside: holdings,
  async change(client) {
    push(remote, [{ branch: 'main', name: 'web', revision: 2, content: '2' }], ['drafts/dropped/one'])
    push(rewritten, [{ branch: 'main', name: 'api', content: 'anew', isRoot: true }])
    for (const [name, git] of [
      ['blueprints', blueprints],
      ['rewritten', { repo: rewritten }],
    ] as const)
      await client.apply(repository(name, git, { runOnceAt: '2026-01-01T00:00:00Z' }))
    await remove(client, 'ends')
    await client.apply(repository('begins', {}))
    void user.write(client)
  },
}
