// The shorthands of kappnav.json as objects of a cluster.
import { Catalog, Sandbox } from '@fairlead/actions'
import type { MapObject } from '@fairlead/actions'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { Case } from '../case-file.ts'

type Input = Case['input']

/** Snippets of all cases run here. */
export const sandbox = new Sandbox()

/** A JSON object of a case. */
export function jsonOf(value: unknown): JsonObject {
  return (value ?? {}) as JsonObject
}

/** The target. */
export function resourceOf(input: Input): KubeObject {
  const resource = jsonOf(input.resource) as unknown as KubeObject
  return { ...resource, metadata: resource.metadata ?? {} }
}

/** The mappings, as they would be stored. */
export function kamsOf(input: Input): readonly KubeObject[] {
  return ((input.kams ?? []) as readonly JsonObject[]).map(({ name, namespace, ...spec }) => ({
    apiVersion: 'actions.kappnav.io/v1',
    kind: 'KindActionMapping',
    metadata: { name: name as string, namespace: namespace as string },
    spec,
  }))
}

/** The ConfigMaps. */
export function configMapsOf(input: Input): readonly KubeObject[] {
  return ((input.configmaps ?? []) as readonly JsonObject[]).map((map) =>
    configMap(map.name as string, map.namespace as string, map.data ?? {}, map.policy as string | undefined),
  )
}

/** A ConfigMap. */
export function configMap(name: string, namespace: string, data: JsonValue, policy?: string): KubeObject {
  const annotations = policy === undefined ? {} : { annotations: { 'kappnav.actions.on.conflict': policy } }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...annotations }, data }
}

/** The engine over what a case says is in the cluster. */
export function catalogOf(input: Input): Catalog {
  const maps = configMapsOf(input)
  return new Catalog(kamsOf(input), (namespace, name): MapObject | undefined =>
    maps.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  )
}
