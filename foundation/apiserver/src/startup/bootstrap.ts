// The bootstrap objects of every server: the system namespaces and priority classes, and with RBAC the roles and
// bindings that Kubernetes ships.
import { asJson, formatKey, keyOf, parseApiVersion } from '@fairlead/kube'
import type { JsonObject, KubeObject, ManagedFieldsEntry, MutableJsonObject } from '@fairlead/kube'
import type { ServerDependencies } from '../handlers/server-dependencies.ts'
import { timestamp } from '../objects/timestamp.ts'
import { storedForm } from '../objects/object-form.ts'
import { resourceName, systemPriorityClasses } from '@fairlead/builtin-kinds'
import { StoreError } from '../storage/store.ts'
import { bootstrapPolicy } from '../auth/rbac/bootstrap-policy.ts'
import { systemNamespaces } from '../objects/namespace-rules.ts'
import type { AccessControl } from './access-control.ts'

/** Creates the missing bootstrap objects of a server. */
export function writeBootstrapObjects(
  server: ServerDependencies,
  { rbac }: Pick<AccessControl, 'rbac'>,
): Promise<void> {
  return createMissing(server, [
    ...systemNamespaces.map(newNamespace),
    ...systemPriorityClasses,
    ...(rbac === undefined ? [] : bootstrapPolicy()),
  ])
}

/** Creates objects that do not exist; existing ones stay unchanged. */
async function createMissing(server: ServerDependencies, objects: readonly KubeObject[]): Promise<void> {
  const { store, registry, clock, newUid } = server
  const creationTimestamp = timestamp(clock.now())
  await Promise.all(
    objects.map(async (object) => {
      const { group, version } = parseApiVersion(object.apiVersion)
      const resource = registry.findKind(group, version, object.kind)
      if (resource === undefined) throw new Error(`no resource serves ${object.apiVersion} ${object.kind}`)
      const managedFields = managers(object, creationTimestamp)
      const metadata = { ...object.metadata, uid: newUid(), creationTimestamp, managedFields }
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

/**
 * Returns the managedFields of a bootstrap object: those of the server, and of the aggregation controller for
 * aggregated rules.
 */
function managers(object: KubeObject, time: string): ManagedFieldsEntry[] {
  const entry = (manager: string, operation: 'Apply' | 'Update', fieldsV1: JsonObject): ManagedFieldsEntry => ({
    manager,
    operation,
    apiVersion: object.apiVersion,
    time,
    fieldsType: 'FieldsV1',
    fieldsV1,
  })
  const json = asJson(object)
  const isAggregated = json['aggregationRule'] !== undefined
  const own: MutableJsonObject = isAggregated
    ? { 'f:aggregationRule': { '.': {}, 'f:clusterRoleSelectors': {} } }
    : Object.fromEntries(
        ['description', 'preemptionPolicy', 'roleRef', 'rules', 'subjects', 'value']
          .filter((name) => json[name] !== undefined)
          .map((name) => [`f:${name}`, {}]),
      )
  const metadata = Object.fromEntries(
    (['annotations', 'labels'] as const).flatMap((name): [string, JsonObject][] => {
      const keys = Object.keys(object.metadata[name] ?? {})
      return keys.length === 0
        ? []
        : [[`f:${name}`, { '.': {}, ...Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) }]]
    }),
  )
  if (Object.keys(metadata).length > 0) own['f:metadata'] = metadata
  const server = entry('kube-apiserver', 'Update', own)
  return isAggregated ? [entry('clusterrole-aggregation-controller', 'Apply', { 'f:rules': {} }), server] : [server]
}

/** Returns a Namespace as a POST would create it. */
function newNamespace(name: string): KubeObject {
  return {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}
