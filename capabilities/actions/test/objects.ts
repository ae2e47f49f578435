// Builders of test objects.
import { Catalog, findAction, mergeMaps, parseActionMap, planCommand, targetOf } from '@fairlead/actions'
import type { ActionMap, MergedAction, MergedMap, RunSnippet } from '@fairlead/actions'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'

/** Returns a ConfigMap; values of `data` that are not strings are serialized. */
export function map(
  name: string,
  data: Readonly<Record<string, JsonValue>>,
  options: { namespace?: string; replace?: boolean } = {},
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      namespace: options.namespace ?? 'kappnav',
      labels: { 'kappnav.io/map-type': 'action' },
      ...(options.replace === true ? { annotations: { 'kappnav.actions.on.conflict': 'replace' } } : {}),
    },
    data: Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
    ),
  }
}

/** Returns a KindActionMapping. */
export function kam(
  name: string,
  mappings: readonly JsonValue[],
  options: { namespace?: string; precedence?: JsonValue } = {},
): KubeObject {
  return {
    apiVersion: 'actions.kappnav.io/v1',
    kind: 'KindActionMapping',
    metadata: { name, namespace: options.namespace ?? 'kappnav' },
    spec: { ...(options.precedence === undefined ? {} : { precedence: options.precedence }), mappings },
  }
}

/** A Deployment. */
export const trader: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'trader', namespace: 'stocktrader', uid: 'u1', labels: { app: 'trader' } },
  spec: { replicas: 3, selector: { matchLabels: { app: 'trader' } } },
}

/** Returns the catalog of mappings and maps. */
export function catalog(mappings: readonly KubeObject[], maps: readonly KubeObject[]): Catalog {
  return new Catalog(mappings, (namespace, name) =>
    maps.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  )
}

/** Merges maps, given most specific first. */
export function merged(...maps: readonly KubeObject[]): MergedMap & { readonly maps: readonly ActionMap[] } {
  const parsed = maps.map(parseActionMap)
  return { ...mergeMaps(parsed.map((one) => ({ candidate: undefined, map: one }))), maps: parsed }
}

/** Returns the command of each Job that a command action of a map creates. */
export async function commandsOf(
  data: Readonly<Record<string, JsonValue>>,
  action: string,
  body: JsonObject,
  runSnippet: RunSnippet,
): Promise<readonly (readonly string[])[]> {
  const set = merged(map('m', data))
  const jobs = await planCommand(
    findAction(set, action, 'cmd-actions') as MergedAction,
    { target: targetOf(trader), user: 'ann', body },
    {
      merged: set,
      settings: {
        namespace: 'jobs',
        serviceAccountName: 'default',
        ttlSeconds: 60,
        deadlineSeconds: 60,
        resources: undefined,
      },
      scope: {
        resource: trader as unknown as JsonObject,
        merged: set,
        globalMap: async () => undefined,
        runSnippet,
        callFunction: async () => '',
      },
      newUid: () => '1',
    },
  )
  return jobs.map(
    ({ spec }) =>
      (spec as { template: { spec: { containers: { command: string[] }[] } } }).template.spec.containers[0]!.command,
  )
}

/** The definition of Applications, without a schema. */
export const applicationDefinition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'applications.app.k8s.io', annotations: { 'api-approved.kubernetes.io': 'unapproved' } },
  spec: {
    group: 'app.k8s.io',
    scope: 'Namespaced',
    names: { kind: 'Application', plural: 'applications' },
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}
