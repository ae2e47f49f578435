// Objects that every server has from its first start on: namespaces, and with RBAC the roles that Kubernetes ships.
import { asJson, formatKey, keyOf, parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { Environment } from './endpoints/environment.ts'
import { timestamp } from './endpoints/environment.ts'
import { storedForm } from './objects/object-form.ts'
import { resourceName } from './registry/resource.ts'
import { StoreError } from './storage/store.ts'

/** Writes objects that are not there yet; what is there already stays as it is. */
export async function writeMissing(environment: Environment, objects: readonly KubeObject[]): Promise<void> {
  const { store, registry, clock, newUid } = environment
  const creationTimestamp = timestamp(clock.now())
  await Promise.all(
    objects.map(async (object) => {
      const { group, version } = parseApiVersion(object.apiVersion)
      const resource = registry.findKind(group, version, object.kind)
      if (resource === undefined) throw new Error(`no resource serves ${object.apiVersion} ${object.kind}`)
      const metadata = { ...object.metadata, uid: newUid(), creationTimestamp }
      const stored = storedForm(asJson({ ...object, metadata }))
      try {
        await store.write({
          resource: resourceName(resource.definition),
          key: formatKey(keyOf(object)),
          expected: 0,
          object: stored,
        })
      } catch (error) {
        if (!(error instanceof StoreError) || error.code !== 'Conflict') throw error
      }
    }),
  )
}

/** A Namespace as a POST would make it. */
export function newNamespace(name: string): KubeObject {
  return {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}
