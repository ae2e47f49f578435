// `fairlead variant plan` against the embedded server.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exitCode } from '@fairlead/offline'
import { commands } from '@fairlead/variants/commands'
import { VariantStage } from './stage.ts'

let stage: VariantStage
let folder: string
beforeEach(async () => {
  stage = await VariantStage.start()
  folder = mkdtempSync(join(tmpdir(), 'fairlead-plan-'))
})
afterEach(async () => {
  await stage[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const settings = (mode: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  mode: "${mode}"\n`

const manifest = (more = ''): string => `apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata:
  name: web
  namespace: team-a
spec:
  upstream: {repo: catalog, package: web}
  downstream: {repo: edge, package: web}
${more}`

async function plan(text: string): Promise<{ readonly code: number; readonly lines: string }> {
  const path = join(folder, 'variant.yaml')
  writeFileSync(path, text)
  const out: string[] = []
  const code = await commands
    .find(({ name }) => name === 'plan')!
    .run({
      arguments: [],
      options: { filename: [path] },
      stdin: async () => await Promise.resolve(''),
      out: (line) => out.push(line),
      err: (line) => out.push(line),
      client: async () => await Promise.resolve(stage.client),
      signal: new AbortController().signal,
    })
  return { code, lines: out.join('\n') }
}

test('shows the draft of a variant that does not exist yet, and writes nothing', async () => {
  await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
  const text = manifest(
    '  pipeline:\n    mutators:\n      - image: set-namespace:v0.4\n        configMap: {namespace: prod}\n',
  )
  const { code, lines } = await plan(text)
  expect(code).toBe(exitCode.ok)
  expect(lines).toContain('  create edge.web.packagevariant-1: there is no downstream revision\n')
  expect(lines).toContain('--- /dev/null\n+++ b/settings.yaml\n')
  expect(lines).toContain('+  namespace: prod\n')
  expect(await stage.downstream()).toEqual([])
})

test('shows an upgrade with its conflicts, and nothing where nothing is to do', async () => {
  await stage.publish('web', 'v1', { 'settings.yaml': settings('one') })
  await stage.apply('web')
  await stage.ready('web')
  const draft = 'edge.web.packagevariant-1'
  await stage.packages.save(draft, (files) => {
    files['settings.yaml'] = files['settings.yaml']!.replace('one', 'mine')
  })
  await stage.approve(draft)
  await stage.variant('web', ({ status }) => status?.downstreamTargets?.[0]?.lifecycle === 'Published')
  expect((await plan(manifest())).lines).toBe('PackageVariant team-a/web\n  nothing to do')
  await stage.stopVariants()
  await stage.publish('web', 'v2', { 'settings.yaml': settings('two') }, 'catalog.web.v1')
  const { code, lines } = await plan(manifest())
  expect(code).toBe(exitCode.ok)
  expect(lines).toContain('  create edge.web.packagevariant-2: the upstream is catalog.web.v2 now\n')
  expect(lines).toContain(
    '  conflict, upstream wins: settings.yaml: ConfigMap/settings: data.mode: base "one", ours "mine", theirs "two"',
  )
  expect(lines).toContain('-  mode: "mine"\n+  mode: "two"')
  expect(await stage.downstream()).toHaveLength(1)
})

test('names what is wrong with a variant', async () => {
  const missing = await plan(manifest())
  expect(missing.code).toBe(exitCode.error)
  expect(missing.lines).toContain('Stalled: ValidationError: could not find a published revision of catalog/web')
  const invalid = await plan(manifest('  packageContext: {data: {name: x}}\n'))
  expect(invalid.code).toBe(exitCode.error)
  expect(invalid.lines).toContain('spec.packageContext.data field cannot contain the key "name"')
})
