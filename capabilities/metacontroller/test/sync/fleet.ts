// A CompositeController that makes a ConfigMap for every ship of a Fleet, on an embedded server with a real hook.
import type { Condition, JsonObject, KubeObject } from '@fairlead/kube'
import { findCondition } from '@fairlead/kube'
import { afterEach, beforeEach } from 'vitest'
import { crd } from '../../../../test/support/crd.ts'
import type { StageOptions } from '../../../../examples/stage.ts'
import { Stage } from '../../../../examples/stage.ts'
import type { Call } from '../hook.ts'
import { TestHook } from '../hook.ts'

export const configMaps: { readonly apiVersion: string; readonly kind: string } = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
}
export const fleets: { readonly apiVersion: string; readonly kind: string } = {
  apiVersion: 'harbour.example.com/v1',
  kind: 'Fleet',
}
export const fleetDefinition: KubeObject = crd({ group: 'harbour.example.com', kind: 'Fleet', status: true })
export const composite: { readonly apiVersion: string; readonly kind: string } = {
  apiVersion: 'metacontroller.k8s.io/v1alpha1',
  kind: 'CompositeController',
}
export const decorator: { readonly apiVersion: string; readonly kind: string } = {
  apiVersion: 'metacontroller.k8s.io/v1alpha1',
  kind: 'DecoratorController',
}

/** A request of a sync or finalize hook. */
export type SyncRequest = JsonObject & {
  readonly parent: KubeObject & { readonly spec: { readonly ships: readonly string[]; readonly flag?: string } }
  readonly object: KubeObject
  readonly children: Readonly<Record<string, Readonly<Record<string, KubeObject>>>>
  readonly attachments: Readonly<Record<string, Readonly<Record<string, KubeObject>>>>
  readonly related: Readonly<Record<string, Readonly<Record<string, KubeObject>>>>
  readonly finalizing: boolean
}

/** The cluster and the hook of the current test. */
export let stage: Stage
export let hook: TestHook

/** Starts a hook before each test, and stops it and the cluster after it. */
export function useHook(): void {
  beforeEach(async () => {
    hook = await TestHook.start()
    hook.reply = (call) => ({ body: fleetResponse(requestOf(call)) })
  })
  afterEach(async () => {
    await stage[Symbol.asyncDispose]()
    await hook[Symbol.asyncDispose]()
  })
}

/** Returns the request of a call. */
export function requestOf({ body }: Call): SyncRequest {
  return body as unknown as SyncRequest
}

/** Returns the ConfigMap of a ship. */
export function ship(name: string, flag = 'none', labels: object = { fleet: 'north' }): KubeObject {
  return { ...configMaps, metadata: { name, labels }, data: { flag } } as unknown as KubeObject
}

/** Returns the children and the status of a fleet. */
export function fleetResponse({ parent, children }: SyncRequest): object {
  return {
    status: { ships: Object.keys(children['ConfigMap.v1'] ?? {}).length },
    children: parent.spec.ships.map((name) => ship(name, parent.spec.flag)),
  }
}

/** Returns a CompositeController of fleets. */
export function controller(spec: object = {}, hooks: object = {}): KubeObject {
  return {
    ...composite,
    metadata: { name: 'fleets' },
    spec: {
      parentResource: { apiVersion: 'harbour.example.com/v1', resource: 'fleets' },
      childResources: [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } }],
      hooks: { sync: { webhook: { url: `${hook.url}/sync` } }, ...hooks },
      ...spec,
    },
  } as unknown as KubeObject
}

/** Returns a parent. */
export function fleet(ships: readonly string[], spec: object = {}, metadata: object = {}): KubeObject {
  return {
    ...fleets,
    metadata: { name: 'north', namespace: 'default', ...metadata },
    spec: { selector: { matchLabels: { fleet: 'north' } }, ships, ...spec },
  } as unknown as KubeObject
}

/** Starts the cluster with the kind Fleet, applies objects and waits until they are synced. */
export async function set(options: StageOptions = {}, ...objects: KubeObject[]): Promise<void> {
  stage = await Stage.set(options)
  await stage.apply(fleetDefinition)
  await stage.pass(1)
  await stage.apply(...objects)
  await stage.pass(2)
}

/** Returns the ConfigMaps of fleets by name. */
export async function ships(): Promise<Record<string, KubeObject & { data?: Record<string, string> }>> {
  const { items } = await stage.client.list(configMaps, { namespace: 'default' })
  return Object.fromEntries(
    items
      .filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')
      .map((item) => [item.metadata.name ?? '', item as KubeObject & { data?: Record<string, string> }]),
  )
}

/** Returns a parent as it is. */
export function live(): Promise<KubeObject & { readonly status?: JsonObject }> {
  return stage.client.get(fleets, 'default/north') as Promise<KubeObject & { readonly status?: JsonObject }>
}

/** Returns a condition of a controller. */
export async function conditionOf(
  type: string,
  of: { readonly apiVersion: string; readonly kind: string } = composite,
  name = 'fleets',
): Promise<Pick<Condition, 'status' | 'reason' | 'message'> | undefined> {
  const { status } = (await stage.client.get(of, name)) as KubeObject & { status?: { conditions: Condition[] } }
  const found = findCondition(status?.conditions, type)
  return found && { status: found.status, reason: found.reason, message: found.message }
}
