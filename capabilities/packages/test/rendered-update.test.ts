// Updates of packages that were rendered: what functions made of the upstream counts as no local change.
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PackageFiles, RenderedUpdate, UpdateStrategy } from '@fairlead/packages'
import { updatePackage } from '@fairlead/packages'
import { addMergeComments } from '../src/engine/update/merge-comments.ts'
import { PackageRenderer } from '../src/runtime/functions/package-renderer.ts'
import { Stage } from './stage.ts'

const renderer = new PackageRenderer({ workers: 1 })
afterAll(async () => await renderer[Symbol.asyncDispose]())

type Content = Readonly<Record<string, string>>

const configMap = (name: string, ...data: readonly string[]): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n${data.map((line) => `  ${line}\n`).join('')}`
const kptfile = (...mutators: readonly string[]): string =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n` +
  (mutators.length === 0 ? '' : `pipeline:\n  mutators:\n${mutators.map((mutator) => `    - ${mutator}\n`).join('')}`)
const inNamespace = '{image: set-namespace, configMap: {namespace: prod}}'
const prefixed = '{image: ensure-name-substring, configMap: {prepend: prod-}}'
const setters = '{image: apply-setters, configPath: setters.yaml}'

async function rendered(files: PackageFiles): Promise<PackageFiles> {
  const job = { type: 'render', files, allowExec: false, writesStatus: false } as const
  const result = await renderer.run(job, { signal: new AbortController().signal })
  expect(result.error).toBeUndefined()
  return result.files
}

interface Versions {
  readonly base: Content
  readonly upstream: Content
  /** Files of the clone that differ from the base, before it is rendered; '' for one that is deleted. */
  readonly cloned?: Content
  /** Edits after the render. */
  readonly edit?: (files: Map<string, string | Uint8Array>) => void
}

interface Updated extends RenderedUpdate {
  /** The files that the update and another render give. */
  readonly final: PackageFiles
  readonly local: PackageFiles
  /** The outcome with a base as in git. */
  readonly plain: ReturnType<typeof updatePackage> | undefined
}

async function update(
  { base, upstream, cloned = {}, edit }: Versions,
  strategy: UpdateStrategy = 'resource-merge',
): Promise<Updated> {
  const files = (content: Content): PackageFiles => new Map(Object.entries(content))
  const clone = addMergeComments(files({ ...base, ...cloned }), { annotate: true })
  const local = new Map(await rendered(clone))
  edit?.(local)
  const versions = { base: files(base), upstream: files(upstream), local, strategy, annotate: true } as const
  const updated = await renderer.update(versions, { signal: new AbortController().signal })
  const final = await rendered(updated.files)
  const plain = strategy === 'resource-merge' ? updatePackage(versions) : undefined
  return { ...updated, final, local, plain }
}

const replaced = (path: string, before: string, after: string) => (files: Map<string, string | Uint8Array>) => {
  const content = String(files.get(path))
  expect(content).toContain(before)
  files.set(path, content.replace(before, after))
}

describe('an update of a rendered package', () => {
  const kept = configMap('kept', 'mode: one')
  const dropped = configMap('dropped', 'mode: one')

  test('deletes what upstream deleted and only functions changed', async () => {
    const { final, conflicts, plain } = await update({
      base: { Kptfile: kptfile(), 'kept.yaml': kept, 'dropped.yaml': dropped },
      upstream: { Kptfile: kptfile(), 'kept.yaml': kept.replace('one', 'two') },
      cloned: { Kptfile: kptfile(inNamespace, prefixed) },
    })
    expect(conflicts).toEqual([])
    expect([...final.keys()]).toEqual(['Kptfile', 'kept.yaml'])
    expect(final.get('kept.yaml')).toContain('name: prod-kept\n')
    expect(final.get('kept.yaml')).toContain('mode: two\n')
    // The reason why the base is rendered.
    expect(plain?.conflicts).toMatchObject([{ file: 'dropped.yaml', taken: 'local' }])
  })

  test('deletes a package below that upstream deleted', async () => {
    const below = { 'db/Kptfile': kptfile(), 'db/db.yaml': configMap('db', 'size: small') }
    const { final, conflicts } = await update({
      base: { Kptfile: kptfile(inNamespace), 'kept.yaml': kept, ...below },
      upstream: { Kptfile: kptfile(inNamespace), 'kept.yaml': kept },
    })
    expect(conflicts).toEqual([])
    expect([...final.keys()]).toEqual(['Kptfile', 'kept.yaml'])
  })

  test('keeps a deleted resource that was edited locally, and reports it', async () => {
    const { final, conflicts } = await update({
      base: { Kptfile: kptfile(inNamespace), 'kept.yaml': kept, 'dropped.yaml': dropped },
      upstream: { Kptfile: kptfile(inNamespace), 'kept.yaml': kept },
      edit: replaced('dropped.yaml', 'mode: one', 'mode: mine'),
    })
    expect(conflicts).toMatchObject([{ file: 'dropped.yaml', taken: 'local', theirs: undefined }])
    expect(final.get('dropped.yaml')).toContain('mode: mine')
  })

  test('sees no conflict in a value that functions derive from what upstream changed', async () => {
    // Without the path the function would change its own pattern in the Kptfile.
    const host =
      '{image: search-replace, configMap: {by-file-path: "*.yaml", by-value-regex: "(.*)example.org", put-value: "${1}shop.test"}}'
    const { final, conflicts, plain } = await update({
      base: { Kptfile: kptfile(host), 'kept.yaml': configMap('kept', 'host: a.example.org', 'name: a.example.org') },
      upstream: {
        Kptfile: kptfile(host),
        'kept.yaml': configMap('kept', 'host: b.example.org', 'name: a.example.org'),
      },
      edit: replaced('kept.yaml', 'name: a.shop.test', 'name: mine.test'),
    })
    expect(conflicts).toEqual([])
    expect(final.get('kept.yaml')).toContain('  host: b.shop.test\n  name: mine.test\n')
    expect(plain?.conflicts).toMatchObject([{ path: 'data.host' }])
  })

  test('renders base and upstream with the setters of the local package', async () => {
    const values = (...data: readonly string[]): string => configMap('setters', ...data)
    const settings = configMap('settings', 'size: "1" # kpt-set: ${size}', 'zone: a # kpt-set: ${zone}')
    const { final, conflicts } = await update({
      base: { Kptfile: kptfile(setters), 'setters.yaml': values('size: "1"', 'zone: a'), 'settings.yaml': settings },
      upstream: { Kptfile: kptfile(setters), 'setters.yaml': values('size: "1"', 'zone: b') },
      cloned: { 'setters.yaml': values('size: "5"', 'zone: a') },
    })
    expect(conflicts).toEqual([])
    expect([...final.keys()]).toEqual(['Kptfile', 'setters.yaml'])
    expect(final.get('setters.yaml')).toContain('size: "5"\n  zone: b\n')
  })

  test('uses a function config that only the local package has', async () => {
    const { final, conflicts } = await update({
      base: { Kptfile: kptfile(), 'kept.yaml': kept, 'dropped.yaml': dropped },
      upstream: { Kptfile: kptfile(), 'kept.yaml': kept },
      cloned: {
        Kptfile: kptfile('{image: set-labels, configPath: labels.yaml}'),
        'labels.yaml': configMap('labels', 'tier: web'),
      },
    })
    expect(conflicts).toEqual([])
    expect([...final.keys()].toSorted()).toEqual(['Kptfile', 'kept.yaml', 'labels.yaml'])
  })

  test('removes what a function set that upstream removed from its pipeline', async () => {
    const labels = '{image: set-labels, configMap: {tier: web}}'
    const { final, conflicts } = await update({
      base: { Kptfile: kptfile(labels, inNamespace), 'kept.yaml': kept },
      upstream: { Kptfile: kptfile(inNamespace), 'kept.yaml': kept },
    })
    expect(conflicts).toEqual([])
    expect(final.get('kept.yaml')).not.toContain('tier')
    expect(final.get('kept.yaml')).toContain('namespace: prod\n')
  })

  test('leaves a resource that a function generates where it is', async () => {
    const service = configMap('generated', 'from: function')
    const generate = '{image: upsert-resource, configPath: service.yaml}'
    const { final, local, conflicts } = await update({
      base: { Kptfile: kptfile(generate), 'service.yaml': service, 'kept.yaml': kept },
      upstream: { Kptfile: kptfile(generate), 'service.yaml': service, 'kept.yaml': kept.replace('one', 'two') },
    })
    expect(conflicts).toEqual([])
    expect([...final.keys()]).toEqual([...local.keys()])
    expect(final.get('kept.yaml')).toContain('mode: two\n')
  })

  test('compares a file that was never rendered as it is in git', async () => {
    const base = { Kptfile: kptfile(inNamespace), 'kept.yaml': kept, 'dropped.yaml': dropped }
    const { files, conflicts } = await update({
      base,
      upstream: { Kptfile: kptfile(inNamespace), 'kept.yaml': kept.replace('one', 'two') },
      edit: (local) => {
        for (const [path, content] of Object.entries(base)) local.set(path, content)
      },
    })
    expect(conflicts).toEqual([])
    expect([...files.keys()]).toEqual(['Kptfile', 'kept.yaml'])
    expect(files.get('kept.yaml')).not.toContain('namespace: prod\n')
  })

  test('says why it compared unrendered versions, and loses nothing', async () => {
    const unknown = '{image: example.org/stamp:v1}'
    const versions = { base: new Map([['Kptfile', kptfile()]]), upstream: new Map([['Kptfile', kptfile()]]) }
    const local = new Map([
      ['Kptfile', kptfile(unknown)],
      ['own.yaml', kept],
    ])
    const options = { signal: new AbortController().signal }
    const updated = await renderer.update({ ...versions, local, strategy: 'resource-merge' }, options)
    expect(updated.unrendered).toBe('the base: function example.org/stamp:v1 is not built in')
    expect([...updated.files.keys()]).toEqual(['Kptfile', 'own.yaml'])
  })

  test('that is a fast-forward accepts the changes of functions, and no others', async () => {
    const versions: Versions = {
      base: { Kptfile: kptfile(inNamespace), 'kept.yaml': kept },
      upstream: { Kptfile: kptfile(inNamespace), 'kept.yaml': kept.replace('one', 'two') },
    }
    const { final } = await update(versions, 'fast-forward')
    expect(final.get('kept.yaml')).toContain('mode: two\n')
    const edit = replaced('kept.yaml', 'mode: one', 'mode: mine')
    await expect(update({ ...versions, edit }, 'fast-forward')).rejects.toMatchObject({ code: 'LocalChanges' })
  })
})

describe('an upgrade through the API', () => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.start()
    await stage.register('blueprints')
    await stage.register('prod')
  })
  afterEach(() => stage[Symbol.asyncDispose]())

  async function publish(workspace: string, files: Content, task?: Parameters<Stage['create']>[3]): Promise<void> {
    const name = `blueprints.web.${workspace}`
    await stage.create('blueprints', 'web', workspace, task)
    await stage.save(name, (resources) => {
      for (const path of Object.keys(resources)) delete resources[path]
      Object.assign(resources, files)
    })
    await stage.setLifecycle(name, 'Proposed')
    await stage.setLifecycle(name, 'Published', { approval: true })
  }

  const upgrade = (onConflict?: 'upstream' | 'local' | 'fail'): Parameters<Stage['create']>[3] => ({
    type: 'upgrade',
    upgrade: {
      oldUpstreamRef: { name: 'blueprints.web.v1' },
      newUpstreamRef: { name: 'blueprints.web.v2' },
      localPackageRevisionRef: { name: 'prod.web.v1' },
      ...(onConflict !== undefined && { onConflict }),
    },
  })

  async function prepare(upstream: Content, edit: (files: Record<string, string>) => void = () => {}): Promise<void> {
    const base = {
      Kptfile: kptfile(inNamespace),
      'a.yaml': configMap('a', 'mode: one'),
      'b.yaml': configMap('b', 'mode: one'),
    }
    await publish('v1', base)
    await publish('v2', upstream, { type: 'edit', edit: { sourceRef: { name: 'blueprints.web.v1' } } })
    const source = { type: 'clone', clone: { upstreamRef: { upstreamRef: { name: 'blueprints.web.v1' } } } }
    await stage.create('prod', 'web', 'v1', source)
    await stage.save('prod.web.v1', (files) => {
      files['Kptfile'] = files['Kptfile']!.replace('namespace: prod', 'namespace: shop')
      edit(files)
    })
    await stage.setLifecycle('prod.web.v1', 'Proposed')
    await stage.setLifecycle('prod.web.v1', 'Published', { approval: true })
  }

  test('deletes what upstream deleted, and says that there was no conflict', async () => {
    await prepare({ Kptfile: kptfile(inNamespace), 'a.yaml': configMap('a', 'mode: two') })
    const { status } = await stage.create('prod', 'web', 'v2', upgrade())
    expect(status?.conflicts).toBeUndefined()
    expect(status?.conditions).toContainEqual({
      type: 'UpstreamMerged',
      status: 'True',
      reason: 'NoConflicts',
      message: 'Merged without conflicts',
    })
    const { resources } = (await stage.resources('prod.web.v2')).spec
    expect(Object.keys(resources)).toEqual(['Kptfile', 'a.yaml'])
    expect(resources['a.yaml']).toContain('namespace: shop\n')
    expect(resources['a.yaml']).toContain('mode: two\n')
  })

  test('reports the conflicts that its policy decided, also after a restart, and fail creates nothing', async () => {
    await prepare(
      {
        Kptfile: kptfile(inNamespace),
        'a.yaml': configMap('a', 'mode: two'),
        'b.yaml': configMap('b', `mode: ${'x'.repeat(2000)}`),
      },
      (files) => {
        for (const path of ['a.yaml', 'b.yaml']) files[path] = files[path]!.replace('mode: one', 'mode: mine')
      },
    )
    await expect(stage.create('prod', 'web', 'v2', upgrade('fail'))).rejects.toThrow(
      'a.yaml: ConfigMap/prod/a: data.mode: base one, ours mine, theirs two',
    )
    const { status } = await stage.create('prod', 'web', 'v2', upgrade('local'))
    const conflict = { path: 'data.mode', base: 'one', ours: 'mine', taken: 'local' }
    const conflicts = [
      { file: 'a.yaml', resource: 'ConfigMap/prod/a', ...conflict, theirs: 'two' },
      { file: 'b.yaml', resource: 'ConfigMap/prod/b', ...conflict, theirs: `${'x'.repeat(509)}...` },
    ]
    expect(status?.conflicts).toEqual(conflicts)
    expect(status?.conditions).toContainEqual({
      type: 'UpstreamMerged',
      status: 'False',
      reason: 'Conflicts',
      message:
        '2 conflicts decided by policy: a.yaml: ConfigMap/prod/a: data.mode: base one, ours mine, theirs two, and 1 more in status.conflicts',
    })
    expect((await stage.resources('prod.web.v2')).spec.resources['a.yaml']).toContain('mode: mine\n')
    await stage.stopCapability()
    await stage.startCapability()
    expect((await stage.revision('prod.web.v2')).status?.conflicts).toEqual(conflicts)
    expect((await stage.resources('prod.web.v2')).status?.renderStatus?.result?.exitCode).toBe(0)
  })
})
