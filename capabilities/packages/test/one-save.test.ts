// Previews of tasks, and creations that bring the changes of a task's files: one save for all.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PackageRevision, PackageRevisionPreview, Task } from '@fairlead/packages'
import { git, refsOf, Stage } from './stage.ts'

let stage: Stage
beforeEach(async () => {
  stage = await Stage.start()
})
afterEach(() => stage[Symbol.asyncDispose]())

const configMap = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  mode: "${value}"\n`

const cloneOf = (name: string): Task => ({ type: 'clone', clone: { upstreamRef: { upstreamRef: { name } } } })

function preview(
  spec: PackageRevisionPreview['spec'],
  client = stage.client,
): Promise<NonNullable<PackageRevisionPreview['status']>> {
  const object: PackageRevisionPreview = {
    apiVersion: 'porch.kpt.dev/v1alpha1',
    kind: 'PackageRevisionPreview',
    metadata: { namespace: 'team-a' },
    spec,
  }
  return client.create(object).then(({ status }) => status!)
}

/** Publishes the upstream `blueprints.web.<workspace>`. */
async function publishUpstream(workspace: string, mode: string): Promise<string> {
  const first = workspace === 'v1'
  const task: Task = first
    ? { type: 'init', init: {} }
    : { type: 'edit', edit: { sourceRef: { name: 'blueprints.web.v1' } } }
  const { metadata } = await stage.create('blueprints', 'web', workspace, task)
  await stage.save(metadata.name!, (files) => void (files['settings.yaml'] = configMap(mode)))
  await stage.setLifecycle(metadata.name!, 'Proposed')
  await stage.setLifecycle(metadata.name!, 'Published', { approval: true })
  return metadata.name!
}

describe('a preview', () => {
  test('returns the files of a clone and stores nothing', async () => {
    await stage.register('blueprints')
    await stage.register('edge', { repo: stage.bareRepository('edge') })
    const upstream = await publishUpstream('v1', 'one')
    const status = await preview({ repository: 'edge', packageName: 'web', tasks: [cloneOf(upstream)] })
    expect(Object.keys(status)).toEqual(['resources'])
    expect(status.resources!['settings.yaml']).toContain('mode: "one"')
    expect(status.resources!['Kptfile']).toContain('upstreamLock')
    expect(refsOf(`${stage.folder}/edge.git`)).toEqual([])
  })

  test('names the conflicts of an upgrade, decided by its policy', async () => {
    await stage.register('blueprints')
    await stage.register('edge')
    const v1 = await publishUpstream('v1', 'one')
    const draft = await stage.create('edge', 'web', 'mine', cloneOf(v1))
    const local = draft.metadata.name!
    await stage.save(local, (files) => void (files['settings.yaml'] = files['settings.yaml']!.replace('one', 'mine')))
    const v2 = await publishUpstream('v2', 'two')
    const upgrade = (onConflict: 'upstream' | 'local' | 'fail'): Task => ({
      type: 'upgrade',
      upgrade: {
        oldUpstreamRef: { name: v1 },
        newUpstreamRef: { name: v2 },
        localPackageRevisionRef: { name: local },
        onConflict,
      },
    })
    const ask = (onConflict: 'upstream' | 'local' | 'fail'): ReturnType<typeof preview> =>
      preview({ repository: 'edge', packageName: 'web', tasks: [upgrade(onConflict)] })
    const byUpstream = await ask('upstream')
    expect(byUpstream.conflicts).toMatchObject([
      { file: 'settings.yaml', path: 'data.mode', base: '"one"', ours: '"mine"', theirs: '"two"', taken: 'upstream' },
    ])
    expect(byUpstream.resources!['settings.yaml']).toContain('mode: "two"')
    const byLocal = await ask('local')
    expect(byLocal.resources!['settings.yaml']).toContain('mode: "mine"')
    await expect(ask('fail')).rejects.toMatchObject({ code: 400 })
    expect((await stage.resources(local)).spec.resources['settings.yaml']).toContain('mode: "mine"')
  })

  test('runs functions once, which the Kptfile does not keep', async () => {
    await stage.register('blueprints')
    const { resources } = await preview({
      repository: 'blueprints',
      packageName: 'web',
      functions: { mutators: [{ image: 'set-labels:v0.2', configMap: { tier: 'gold' } }] },
      resources: {
        Kptfile: 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n',
        'a.yaml': configMap('x'),
      },
    })
    expect(resources!['a.yaml']).toContain('tier: gold')
    expect(resources!['Kptfile']).not.toContain('pipeline')
    expect(resources!['Kptfile']).not.toContain('renderStatus')
  })

  test('reports the functions that fail', async () => {
    await stage.register('blueprints')
    const status = await preview({
      repository: 'blueprints',
      packageName: 'web',
      functions: { mutators: [{ image: 'registry.example.test/unknown:v1' }] },
      render: true,
    })
    expect(status.failure).toMatch(/unknown/)
    expect(status.renderStatus?.error).not.toBe('')
  })

  test('names the function that failed, and its results', async () => {
    await stage.register('blueprints')
    const { failure, renderStatus } = await preview({
      repository: 'blueprints',
      packageName: 'web',
      functions: {
        validators: [{ image: 'validate-cel:v1', configMap: { maps: "object.kind != 'ConfigMap'" } }],
      },
      resources: {
        Kptfile: 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n',
        ...Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [`${name}.yaml`, configMap(name)])),
      },
    })
    const result = "[error] v1/ConfigMap/settings: rule maps does not hold: object.kind != 'ConfigMap'"
    const image = 'ghcr.io/kptdev/krm-functions-catalog/validate-cel:v1'
    expect(failure).toBe(`function ${image} failed: ${result}; ${result}; ${result}; and 2 more`)
    expect(renderStatus?.error).toBe('pkg.render: pkg .:\n\tpipeline.run: already handled error')
  })

  test('needs the right to read the revision that its task names', async () => {
    await stage.register('blueprints')
    const upstream = await publishUpstream('v1', 'one')
    const rule = { apiGroups: ['porch.kpt.dev'], resources: ['packagerevisionpreviews'], verbs: ['create'] }
    await stage.grant('previewer', [rule], 'eve', 'team-a')
    const eve = stage.server.client({ as: { name: 'eve', groups: [] } })
    const spec = { repository: 'blueprints', packageName: 'copy', tasks: [cloneOf(upstream)] }
    await expect(preview(spec, eve)).rejects.toMatchObject({ code: 403 })
  })
})

describe('a creation with resources', () => {
  test('makes task, changes and render in one commit', async () => {
    await stage.register('blueprints')
    await stage.register('edge', { repo: stage.bareRepository('edge') })
    const upstream = await publishUpstream('v1', 'one')
    const { resources } = await preview({ repository: 'edge', packageName: 'web', tasks: [cloneOf(upstream)] })
    const pipeline = 'pipeline:\n  mutators:\n    - image: set-labels:v0.2\n      configMap:\n        tier: gold\n'
    const created = await stage.client.create<PackageRevision>({
      apiVersion: 'porch.kpt.dev/v1alpha1',
      kind: 'PackageRevision',
      metadata: { namespace: 'team-a' },
      spec: {
        repository: 'edge',
        packageName: 'web',
        workspaceName: 'first',
        tasks: [cloneOf(upstream)],
        resources: { ...resources, Kptfile: `${resources!['Kptfile']}${pipeline}` },
      },
    })
    expect(created.spec.resources).toBeUndefined()
    expect((await stage.resources('edge.web.first')).spec.resources['settings.yaml']).toContain('tier: gold')
    expect(git(`${stage.folder}/edge.git`, 'rev-list', '--count', 'drafts/web/first').trim()).toBe('1')
  })

  test('refuses resources at an update', async () => {
    await stage.register('blueprints')
    const draft = await stage.create('blueprints', 'web', 'v1')
    const update = stage.client.update({ ...draft, spec: { ...draft.spec, resources: { Kptfile: '' } } })
    await expect(update).rejects.toMatchObject({ code: 422 })
  })
})
