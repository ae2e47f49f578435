// A MapController that copies ConfigMaps to Secrets for the parents of a kind Policy, on an embedded server with a real
// hook.
import type { Condition, KubeObject } from '@fairlead/kube'
import { findCondition } from '@fairlead/kube'
import { afterEach, beforeEach } from 'vitest'
import type { StageOptions } from '../../../examples/stage.ts'
import { Stage } from '../../../examples/stage.ts'
import { TestHook } from './hook.ts'
import { crd } from '../../../test/support/crd.ts'

export const mapControllers: { readonly apiVersion: string; readonly kind: string } = {
  apiVersion: 'metacontroller.k8s.io/v1alpha1',
  kind: 'MapController',
}
export const secrets: { readonly apiVersion: string; readonly kind: string } = { apiVersion: 'v1', kind: 'Secret' }
export const configMaps: { readonly apiVersion: string; readonly kind: string } = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
}

export const policies: KubeObject = crd({ group: 'test.example.com', kind: 'Policy', plural: 'policies', status: true })

/** The cluster of the current test. */
export let stage: Stage
/** The hook of the current test. */
export let hook: TestHook

/** Starts a hook before each test, and stops it and the cluster after it. */
export function useHook(): void {
  beforeEach(async () => {
    hook = await TestHook.start()
  })
  afterEach(async () => {
    await stage[Symbol.asyncDispose]()
    await hook[Symbol.asyncDispose]()
  })
}

/** Replaces the hook by one on another address. */
export async function restartHook(host: string | undefined): Promise<void> {
  await hook[Symbol.asyncDispose]()
  hook = await TestHook.start(host)
}

/** Starts the cluster without objects. */
export async function startStage(options: StageOptions = {}): Promise<void> {
  stage = await Stage.set(options)
}

/** Returns a MapController that copies ConfigMaps. */
export function controller(
  spec: object = {},
  hooks: object = { map: { webhook: { url: `${hook.url}/map` } } },
): KubeObject {
  return {
    ...mapControllers,
    metadata: { name: 'copies' },
    spec: {
      parentResource: { apiVersion: 'test.example.com/v1', resource: 'policies' },
      inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
      outputResources: [{ apiVersion: 'v1', resource: 'secrets' }],
      hooks,
      ...spec,
    },
  }
}

/** Returns a parent. */
export const policy = (name = 'all', spec: object = { selector: { matchLabels: { copy: 'yes' } } }): KubeObject => ({
  apiVersion: 'test.example.com/v1',
  kind: 'Policy',
  metadata: { name, namespace: 'default' },
  spec,
})
/** Returns an input. */
export const input = (name: string, data: object = {}): KubeObject => ({
  ...configMaps,
  metadata: { name, namespace: 'default', labels: { copy: 'yes' } },
  data,
})

/** Starts the cluster with the kind Policy, applies objects and waits until they are reconciled. */
export async function set(options: StageOptions = {}, ...objects: KubeObject[]): Promise<void> {
  stage = await Stage.set(options)
  await stage.apply(policies)
  await stage.pass(1)
  await stage.apply(...objects)
  await stage.pass(2)
}

/** Returns a condition of the MapController. */
export async function conditionOf(type: string): Promise<Pick<Condition, 'status' | 'reason' | 'message'> | undefined> {
  const { status } = (await stage.client.get(mapControllers, 'copies')) as KubeObject & {
    status?: { conditions: Condition[] }
  }
  const found = findCondition(status?.conditions, type)
  return found && { status: found.status, reason: found.reason, message: found.message }
}

/** Returns the names of the outputs. */
export async function names(kind: typeof secrets): Promise<string[]> {
  return (await stage.client.list(kind, { namespace: 'default' })).items
    .map(({ metadata }) => metadata.name ?? '')
    .filter((name) => name.endsWith('-copy'))
}

/** Returns the reasons of all events. */
export async function reasons(): Promise<string[]> {
  const { items } = await stage.client.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' })
  return items.map((event) => String(event.reason))
}
