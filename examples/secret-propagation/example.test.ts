import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { KubeObject } from '@fairlead/kube'
import { parseYaml } from '@fairlead/kube'
import { clusterRoleFor } from '@fairlead/metacontroller'
import type { MapController } from '@fairlead/metacontroller'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Stage, manifest, manifests } from '../stage.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const secrets = { apiVersion: 'v1', kind: 'Secret' }
const namespaces = { apiVersion: 'v1', kind: 'Namespace' }
const policies = { apiVersion: 'examples.fairlead.dev/v1', kind: 'SecretPropagation' }
let stage: Stage

beforeEach(async () => {
  stage = await Stage.set({ example: folder })
  await stage.apply(...manifests(folder))
  await stage.pass(3)
})
afterEach(() => stage[Symbol.asyncDispose]())

async function copies(): Promise<Record<string, string>> {
  const { items } = await stage.client.list(secrets)
  const shared = (items as readonly (KubeObject & { data: Record<string, string> })[]).filter(
    ({ metadata }) => metadata.name === 'shared',
  )
  return Object.fromEntries(
    shared.map(({ metadata, data }) => [metadata.namespace, Buffer.from(data.password!, 'base64').toString()]),
  )
}

async function status(): Promise<unknown> {
  const { status: of } = (await stage.client.get(policies, 'shared')) as KubeObject & {
    status: { inputs: unknown; outputs: unknown }
  }
  return { inputs: of.inputs, outputs: of.outputs }
}

describe('the secret-propagation example', () => {
  test('copies the Secret into the namespaces that match, and counts them', async () => {
    expect(await copies()).toEqual({ default: 'hunter2', 'team-a': 'hunter2', 'team-b': 'hunter2' })
    expect(await status()).toEqual({ inputs: { namespaces: { total: 2 } }, outputs: { secrets: { total: 2 } } })
  })

  test('creates and deletes copies as namespaces begin and cease to match', async () => {
    await stage.client.patch(namespaces, 'team-c', { merge: { metadata: { labels: { receives: 'shared-secret' } } } })
    await stage.pass(2)
    expect(Object.keys(await copies())).toEqual(['default', 'team-a', 'team-b', 'team-c'])
    await stage.client.patch(namespaces, 'team-a', { merge: { metadata: { labels: { receives: null } } } })
    await stage.pass(2)
    expect(Object.keys(await copies())).toEqual(['default', 'team-b', 'team-c'])
  })

  test('updates all copies when the source changes, at most once a second', async () => {
    for (const password of ['b25l', 'dHdv', 'dGhyZWU=']) {
      await stage.client.patch(secrets, 'default/shared', { merge: { data: { password } } })
      await stage.settle()
    }
    expect((await copies())['team-a']).toBe('one')
    await stage.pass(2)
    expect(await copies()).toEqual({ default: 'three', 'team-a': 'three', 'team-b': 'three' })
  })

  test('keeps a foreign Secret of the same name, and creates the copy after its deletion', async () => {
    await stage.apply({ ...secrets, metadata: { name: 'shared', namespace: 'team-c' }, data: { password: 'bWluZQ==' } })
    await stage.client.patch(namespaces, 'team-c', { merge: { metadata: { labels: { receives: 'shared-secret' } } } })
    await stage.pass(2)
    expect((await copies())['team-c']).toBe('mine')
    const { items } = await stage.client.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' })
    const warnings = (items as readonly (KubeObject & { type: string; note: string })[]).filter(
      ({ type }) => type === 'Warning',
    )
    expect(warnings.map(({ note }) => note)).toEqual([
      expect.stringContaining('Secret/team-c/shared exists already and is not owned by this parent'),
    ])
    await stage.client.delete(secrets, 'team-c/shared')
    await stage.pass(1)
    expect((await copies())['team-c']).toBe('hunter2')
  })

  test('ships the ClusterRole that its controller needs', () => {
    const controller = manifest(`${folder}/manifests/3-controller.yaml`)[0] as unknown as MapController
    expect(parseYaml(readFileSync(`${folder}/manifests/2-rbac.yaml`, 'utf8'))).toEqual(clusterRoleFor(controller))
  })
})
