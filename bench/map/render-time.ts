// Measures the decisions that `fairlead map render` makes for objects of files.
import type { KubeObject } from '@fairlead/kube'
import { renderController } from '@fairlead/metacontroller'
import type { Hook, MapController } from '@fairlead/metacontroller'

const controller: MapController = {
  apiVersion: 'metacontroller.k8s.io/v1alpha1',
  kind: 'MapController',
  metadata: { name: 'bench' },
  spec: {
    parentResource: { apiVersion: 'v1', resource: 'serviceaccounts' },
    inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
    outputResources: [{ apiVersion: 'v1', resource: 'secrets' }],
    hooks: { map: { version: 'v1', trim: 'managedFields' } },
  },
}

const hook: Hook = {
  strict: false,
  call: async ({ facts: { input } }) => {
    const output = { apiVersion: 'v1', kind: 'Secret', metadata: { name: `${input?.metadata.name}-copy` } }
    return { value: { outputs: [output] }, duplicates: [] }
  },
}

/** Renders a parent with so many inputs. Returns milliseconds. */
export async function renderTime(inputs: number): Promise<number> {
  const objects: KubeObject[] = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'parent' } },
    ...Array.from({ length: inputs }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `input-${index}` },
    })),
  ]
  const hooks = { map: hook, tombstone: undefined, [Symbol.asyncDispose]: async () => {} }
  const { signal } = new AbortController()
  const started = performance.now()
  const [parent] = await renderController({ controller, objects, hooks, now: 0, signal })
  if (parent?.groups.length !== inputs) throw new Error(`${parent?.groups.length} of ${inputs} groups were rendered`)
  return performance.now() - started
}
