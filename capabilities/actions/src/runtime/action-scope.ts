// The values that the patterns of an action may use: as much as the map that defines it is trusted with.
import { ConfigMap } from '@fairlead/client'
import { asJson } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { CatalogSource, Resolution } from '../engine/catalog.ts'
import { asData } from '../engine/data/map-data.ts'
import { functionsFor } from '../engine/functions.ts'
import { scopeOf } from '../engine/maps/merge.ts'
import type { MergedAction } from '../engine/maps/merge.ts'
import type { RunSnippet } from '../engine/maps/snippet.ts'
import { NamespaceCluster } from '../engine/namespace-cluster.ts'
import type { PatternScope } from '../engine/patterns/pattern-resolver.ts'
import { kappnavNamespace } from '../engine/runs/settings.ts'
import type { KindTable } from './kind-table.ts'
import { LiveCluster } from './live-cluster.ts'
import type { Caller } from './rights.ts'

interface ScopeSources {
  readonly source: CatalogSource
  readonly kinds: KindTable
  readonly runSnippet: RunSnippet
}

/** Returns the scope of the patterns of an action, without inputs. */
export function actionScope(
  { source, kinds, runSnippet }: ScopeSources,
  caller: Caller,
  resource: KubeObject,
  { merged }: Resolution,
  action: MergedAction,
): Omit<PatternScope, 'inputs'> {
  const isTrusted = action.from.isUntrusted !== true
  const live = new LiveCluster(caller.client, kinds)
  return {
    resource: asJson(withoutSecretData(resource)),
    merged: scopeOf(merged, action),
    globalMap: async (name) => {
      if (!isTrusted && name !== builtinMap) {
        const map = await caller.client.find(ConfigMap, { namespace: kappnavNamespace, name })
        return map && asData(map.data)
      }
      await source.loadMap?.(kappnavNamespace, name)
      const map = source.configMap(kappnavNamespace, name)
      return map && asData(map.data)
    },
    runSnippet,
    callFunction: functionsFor(
      resource,
      isTrusted ? live : new NamespaceCluster(live, resource.metadata.namespace ?? ''),
    ),
  }
}

/** Name of the ConfigMap behind `${builtin.KEY}`. */
const builtinMap = 'builtin'

/** Returns a Secret without its values: patterns never substitute them. */
function withoutSecretData(resource: KubeObject): KubeObject {
  if (resource.kind !== 'Secret' || resource.apiVersion !== 'v1') return resource
  const { data: _data, stringData: _stringData, ...rest } = resource
  const { annotations, ...metadata } = rest.metadata
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== lastAppliedAnnotation)
  return { ...rest, metadata: { ...metadata, annotations: Object.fromEntries(kept) } }
}

/** Annotation in which `kubectl apply` repeats the object, values of Secrets included. */
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'
