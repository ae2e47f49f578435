// Repositories under faults: a remote one with credentials to which others push meanwhile, a managed one, one that is
// deleted and one that is created.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@fairlead/client'
import { PackageRevisionKind, packages, RepositoryKind } from '@fairlead/packages'
import { isConflict } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { Scenario } from '../scenario.ts'

const folder = mkdtempSync(join(tmpdir(), 'fairlead-scenario-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const remote = join(folder, 'remote.git')

/** Pushes the next published revision of a package. */
function push(name: string, revision: number): void {
  const from = revision === 1 ? [] : ['from refs/heads/main^0']
  const kptfile = `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: ${name}\n`
  const commit = [
    'commit refs/heads/main',
    'mark :1',
    'committer Ann <ann@example.test> 1700000000 +0000',
    'data 6',
    'Change',
    ...from,
    `M 100644 inline ${name}/Kptfile`,
    `data ${kptfile.length}`,
    kptfile,
    `M 100644 inline ${name}/revision`,
    'data 1',
    String(revision),
    `reset refs/tags/${name}/v${revision}`,
    'from :1',
    '',
  ]
  execFileSync('git', ['fast-import', '--quiet'], {
    cwd: remote,
    input: commit.join('\n'),
    stdio: ['pipe', 'ignore', 'pipe'],
  })
}

function repository(name: string, git: object, sync?: object): KubeObject {
  return {
    apiVersion: 'config.porch.kpt.dev/v1alpha1',
    kind: 'Repository',
    metadata: { name, namespace: 'default' },
    spec: { type: 'git', git, ...(sync !== undefined && { sync }) },
  } as KubeObject
}

/** Deletes a Repository as it is now; the controller may write its status meanwhile. */
async function remove(client: Client, name: string): Promise<void> {
  for (;;) {
    const { uid, resourceVersion } = (await client.get(RepositoryKind, `default/${name}`)).metadata
    try {
      return void (await client.delete(RepositoryKind, `default/${name}`, { preconditions: { uid, resourceVersion } }))
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

async function serves(client: Client, revisions: readonly string[], repositories: readonly string[]): Promise<boolean> {
  const [served, registered] = await Promise.all([client.list(PackageRevisionKind), client.list(RepositoryKind)])
  const ready = registered.items.filter(
    ({ metadata, status }) =>
      status?.observedGeneration === metadata.generation &&
      status?.conditions?.some(
        ({ type, status: value, reason }) => type === 'Ready' && value === 'True' && reason !== 'Reconciling',
      ) === true,
  )
  const namesOf = (objects: readonly KubeObject[]): string =>
    objects
      .map(({ metadata }) => metadata.name)
      .sort()
      .join()
  return namesOf(served.items) === revisions.join() && namesOf(ready) === repositories.join()
}

const blueprints = { repo: remote, secretRef: { name: 'robot' } }

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
      metadata: { name: 'robot', namespace: 'default' },
      data: { username: 'YQ==', password: 'Yg==' },
    } as KubeObject,
    repository('blueprints', blueprints),
    repository('ends', {}),
    repository('managed', {}),
  ],
  deleted: [],
  kinds: [RepositoryKind, PackageRevisionKind],
  prepare() {
    rmSync(remote, { recursive: true, force: true })
    execFileSync('git', ['init', '--bare', '--quiet', '-b', 'main', remote])
    push('web', 1)
  },
  begins: (client) => serves(client, ['blueprints.web.main', 'blueprints.web.v1'], ['blueprints', 'ends', 'managed']),
  holds: (client) =>
    serves(
      client,
      ['blueprints.web.main', 'blueprints.web.v1', 'blueprints.web.v2'],
      ['begins', 'blueprints', 'managed'],
    ),
  async change(client) {
    push('web', 2)
    await client.apply(repository('blueprints', blueprints, { runOnceAt: '2026-01-01T00:00:00Z' }))
    await remove(client, 'ends')
    await client.apply(repository('begins', {}))
  },
}
