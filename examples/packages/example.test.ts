// The packages example: its manifests and commands, then a package for production that follows the blueprint.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StatusError } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionResourcesKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import { Stage } from '../../capabilities/packages/test/stage.ts'
import { manifest } from '../stage.ts'

const manifests = join(fileURLToPath(new URL('.', import.meta.url)), 'manifests')
const namespace = 'default'

let stage: Stage
beforeEach(async () => {
  stage = await Stage.start([])
})
afterEach(() => stage[Symbol.asyncDispose]())

const files = async (name: string): Promise<Readonly<Record<string, string>>> =>
  (await stage.client.get(PackageRevisionResourcesKind, { namespace, name })).spec.resources

async function save(name: string, change: (files: Record<string, string>) => void): Promise<void> {
  const object = await stage.client.get(PackageRevisionResourcesKind, { namespace, name })
  const resources = { ...object.spec.resources }
  change(resources)
  await stage.client.update({ ...object, spec: { ...object.spec, resources } })
}

async function publish(name: string): Promise<PackageRevision> {
  const { lifecycle } = (await stage.client.get(PackageRevisionKind, { namespace, name })).spec
  if (lifecycle === 'Draft') await stage.setLifecycle(name, 'Proposed', { namespace })
  return await stage.setLifecycle(name, 'Published', { namespace, approval: true })
}

describe('the packages example', () => {
  beforeEach(async () => {
    // In one go: the revision is created while its repository is read for the first time.
    for (const file of readdirSync(manifests).toSorted())
      for (const object of manifest(join(manifests, file))) await stage.client.apply(object)
  })

  test('proposes a rendered blueprint that can be published', async () => {
    const rendered = await files('blueprints.web.v1')
    expect(rendered['deployment.yaml']).toContain('  replicas: 1 # kpt-set: ${replicas}\n')
    expect(rendered['deployment.yaml']).toContain('image: nginx:1.27 # kpt-set: nginx:${tag}\n')
    expect(rendered['service.yaml']).toContain('app.kubernetes.io/part-of: web\n')
    expect((await publish('blueprints.web.v1')).spec).toMatchObject({ lifecycle: 'Published', revision: 1 })
  })

  test('keeps the settings of production when it takes the next revision of the blueprint', async () => {
    await publish('blueprints.web.v1')
    const upstreamRef = { upstreamRef: { name: 'blueprints.web.v1' } }
    await stage.create('prod', 'web', 'v1', { type: 'clone', clone: { upstreamRef } }, { namespace })
    const refused: unknown = await save('prod.web.v1', (resources) => {
      resources['setters.yaml'] = resources['setters.yaml']!.replace('"1"', '"30"')
    }).catch((error: unknown) => error)
    expect(JSON.stringify((refused as StatusError).status.details?.causes)).toContain('at most 10 replicas, not 30')
    await save('prod.web.v1', (resources) => {
      resources['setters.yaml'] = resources['setters.yaml']!.replace('"1"', '"3"')
    })
    await publish('prod.web.v1')

    const source = { type: 'edit', edit: { sourceRef: { name: 'blueprints.web.v1' } } }
    await stage.create('blueprints', 'web', 'v2', source, { namespace })
    await save('blueprints.web.v2', (resources) => {
      resources['setters.yaml'] = resources['setters.yaml']!.replace('"1.27"', '"1.29"')
      delete resources['service.yaml']
    })
    await publish('blueprints.web.v2')

    const upgrade = {
      oldUpstreamRef: { name: 'blueprints.web.v1' },
      newUpstreamRef: { name: 'blueprints.web.v2' },
      localPackageRevisionRef: { name: 'prod.web.v1' },
    }
    const { status } = await stage.create('prod', 'web', 'v2', { type: 'upgrade', upgrade }, { namespace })
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'UpstreamMerged', status: 'True', reason: 'NoConflicts' }),
    )
    const upgraded = await files('prod.web.v2')
    expect(upgraded['deployment.yaml']).toContain('  replicas: 3 # kpt-set: ${replicas}\n')
    expect(upgraded['deployment.yaml']).toContain('image: nginx:1.29 # kpt-set: nginx:${tag}\n')
    expect(Object.keys(upgraded)).not.toContain('service.yaml')
  })
})
