// The edges of variants and sets whose upstream package is not published yet.
import type { Relation } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind } from '@fairlead/packages'
import { PackageVariantKind, PackageVariantSetKind } from '@fairlead/variants'
import { expect, test } from 'vitest'
import { SetStage } from './set-stage.ts'

test('a variant and a set follow the drafts of a package until one of its revisions is published', async () => {
  await using stage = await SetStage.start()
  const { client, namespace } = stage
  const draft = await client.create({
    apiVersion: PackageRevisionKind.apiVersion,
    kind: 'PackageRevision',
    metadata: { namespace },
    spec: { repository: 'catalog', packageName: 'web', workspaceName: 'v1' },
  } as KubeObject)
  const upstream = { repo: 'catalog', package: 'web' }
  const { apiVersion, kind } = PackageVariantKind
  const variant = await client.create({
    apiVersion,
    kind,
    metadata: { name: 'one', namespace },
    spec: { upstream, downstream: { repo: 'catalog', package: 'copy' } },
  } as KubeObject)
  const set = await client.create({
    apiVersion: PackageVariantSetKind.apiVersion,
    kind: PackageVariantSetKind.kind,
    metadata: { name: 'all', namespace },
    spec: { upstream, targets: [{ repositories: [{ name: 'nowhere' }] }] },
  } as KubeObject)
  const format = ({ type, from, to }: Relation): string => `${from.kind}/${from.name} ${type} ${to.kind}/${to.name}`
  const edgesOf = async (object: KubeObject): Promise<readonly string[]> =>
    (await stage.relations(object)).map(format).toSorted()
  const ofDraft = 'PackageRevision/catalog.web.v1 upstream-of'
  expect(await edgesOf(variant)).toEqual([
    `${ofDraft} PackageVariant/one`,
    'PackageVariant/one refers-to Repository/catalog',
  ])
  expect(await edgesOf(set)).toEqual([
    `${ofDraft} PackageVariantSet/all`,
    'PackageVariantSet/all refers-to Repository/catalog',
  ])
  expect(await edgesOf(draft)).toEqual([`${ofDraft} PackageVariant/one`, `${ofDraft} PackageVariantSet/all`])

  const key = { namespace, name: draft.metadata.name! }
  for (const [lifecycle, options] of [
    ['Proposed', {}],
    ['Published', { subresource: 'approval' }],
  ] as const) {
    const revision = await client.get(PackageRevisionKind, key)
    await client.update({ ...revision, spec: { ...revision.spec, lifecycle } }, options)
  }
  expect(await edgesOf(await client.get(PackageVariantSetKind, { namespace, name: 'all' }))).not.toContain(
    `${ofDraft} PackageVariantSet/all`,
  )
})
