// Edges from the fields of pods and claims: the objects without which a pod does not start. Start with podRelations.
import { parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { objectReference } from '../object-reference.ts'
import type { ObjectReference } from '../object-reference.ts'
import type { ObjectReader } from './object-reader.ts'
import { referenceKey } from './relation.ts'
import type { Relation, RelationSource } from './relation.ts'

/**
 * The edges of pods and PersistentVolumeClaims: a pod refers to the ConfigMaps, Secrets, claims and the service account
 * that it needs, a claim to its volume and StorageClass. Optional references are left out.
 */
export const podRelations: RelationSource = {
  async relations(object, read) {
    const { group } = parseApiVersion(object.apiVersion)
    const own = group === '' ? namedBy(object) : []
    const from = objectReference(object)
    const referring = group === '' ? (referringKinds[object.kind] ?? []) : []
    const key = referenceKey(from)
    const lists = await Promise.all(referring.map((kind) => objectsNaming(kind, object, key, read)))
    return [
      ...own.map((to): Relation => ({ type: 'refers-to', from, to })),
      ...lists.flat().map((other): Relation => ({ type: 'refers-to', from: objectReference(other), to: from })),
    ]
  },
}

/** Kinds whose objects may name an object of a kind. */
const referringKinds: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: ['Pod'],
  Secret: ['Pod'],
  ServiceAccount: ['Pod'],
  PersistentVolumeClaim: ['Pod'],
}

/** The names of objects by key, of each object once: a list of pods is searched for many objects. */
const known = new WeakMap<KubeObject, ReadonlySet<string>>()

async function objectsNaming(
  kind: string,
  { metadata }: KubeObject,
  key: string,
  read: ObjectReader,
): Promise<readonly KubeObject[]> {
  const { objects } = await read.list({ apiVersion: 'v1', kind }, metadata.namespace)
  return objects.filter((other) => {
    const names = known.get(other) ?? new Set(namedBy(other).map(referenceKey))
    known.set(other, names)
    return names.has(key)
  })
}

function namedBy({ kind, metadata, spec }: KubeObject): readonly ObjectReference[] {
  const { namespace = '' } = metadata
  if (kind === 'Pod') return namedByPod((spec ?? {}) as PodSpec, namespace)
  return kind === 'PersistentVolumeClaim' ? namedByClaim((spec ?? {}) as ClaimSpec) : []
}

interface Named {
  readonly name?: string
  readonly optional?: boolean
}

interface Volume {
  readonly configMap?: Named
  readonly secret?: { readonly secretName?: string; readonly optional?: boolean }
  readonly persistentVolumeClaim?: { readonly claimName?: string }
  readonly projected?: { readonly sources?: readonly { readonly configMap?: Named; readonly secret?: Named }[] }
}

interface Container {
  readonly env?: readonly { readonly valueFrom?: { readonly configMapKeyRef?: Named; readonly secretKeyRef?: Named } }[]
  readonly envFrom?: readonly { readonly configMapRef?: Named; readonly secretRef?: Named }[]
}

interface PodSpec {
  readonly serviceAccountName?: string
  readonly volumes?: readonly Volume[]
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
}

interface ClaimSpec {
  readonly volumeName?: string
  readonly storageClassName?: string
}

/** A pod without a missing pull secret starts all the same when its image is public; such Secrets are left out. */
function namedByPod(spec: PodSpec, namespace: string): readonly ObjectReference[] {
  const { volumes = [], containers = [], initContainers = [], serviceAccountName = 'default' } = spec
  const sources = volumes.flatMap(({ projected }) => projected?.sources ?? [])
  const variables = [...initContainers, ...containers].flatMap(({ env = [], envFrom = [] }) => [
    ...env.map(({ valueFrom }) => ({ configMap: valueFrom?.configMapKeyRef, secret: valueFrom?.secretKeyRef })),
    ...envFrom.map(({ configMapRef, secretRef }) => ({ configMap: configMapRef, secret: secretRef })),
  ])
  const all = [...volumes.map(ofVolume), ...sources, ...variables]
  const names = [
    ...all.map(({ configMap }) => ['ConfigMap', required(configMap)] as const),
    ...all.map(({ secret }) => ['Secret', required(secret)] as const),
    ...volumes.map(({ persistentVolumeClaim: claim }) => ['PersistentVolumeClaim', claim?.claimName] as const),
    // Every namespace has its default account.
    ['ServiceAccount', serviceAccountName === 'default' ? undefined : serviceAccountName] as const,
  ]
  const found = names.flatMap(([kind, name]) =>
    name === undefined || name === '' ? [] : [{ apiVersion: 'v1', kind, namespace, name }],
  )
  return [...new Map(found.map((one) => [referenceKey(one), one])).values()]
}

function ofVolume({ configMap, secret }: Volume): { readonly configMap?: Named; readonly secret?: Named } {
  return {
    ...(configMap && { configMap }),
    ...(secret && { secret: { name: secret.secretName ?? '', optional: secret.optional === true } }),
  }
}

function required(named: Named | undefined): string | undefined {
  return named?.optional === true ? undefined : named?.name
}

function namedByClaim({ volumeName = '', storageClassName = '' }: ClaimSpec): readonly ObjectReference[] {
  return [
    ...(volumeName === '' ? [] : [{ apiVersion: 'v1', kind: 'PersistentVolume', name: volumeName }]),
    ...(storageClassName === ''
      ? []
      : [{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', name: storageClassName }]),
  ]
}
