// Removes the finalizers of admission/storage-protection.ts from terminating claims, volumes and attribute classes that
// nothing uses any more.
import { kind, Pod } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { Informer } from '@fairlead/controller'
import { formatKey, isConflict, isNotFound, isTerminating, keyOf } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { protectionFinalizers } from '../admission/storage-protection.ts'
import { controllerManager, enqueueOn } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

type Claim = KubeObject & {
  readonly spec?: { readonly volumeAttributesClassName?: string }
  readonly status?: {
    readonly currentVolumeAttributesClassName?: string
    readonly modifyVolumeStatus?: { readonly targetVolumeAttributesClassName?: string }
  }
}
type Volume = KubeObject & {
  readonly spec?: { readonly volumeAttributesClassName?: string }
  readonly status?: { readonly phase?: string }
}
type PodWithClaims = KubeObject & {
  readonly spec?: {
    readonly volumes?: readonly {
      readonly name: string
      readonly persistentVolumeClaim?: { readonly claimName: string }
      readonly ephemeral?: object
    }[]
  }
  readonly status?: { readonly phase?: string }
}

const Claim: Kind<Claim> = kind('v1', 'PersistentVolumeClaim', { plural: 'persistentvolumeclaims', namespaced: true })
const Volume: Kind<Volume> = kind('v1', 'PersistentVolume', { plural: 'persistentvolumes', namespaced: false })
const AttributesClass: Kind<KubeObject> = kind('storage.k8s.io/v1', 'VolumeAttributesClass', {
  plural: 'volumeattributesclasses',
  namespaced: false,
})

/** A kind whose objects use protected ones. */
interface UserKind {
  readonly kind: Kind<KubeObject>
  /** Returns the keys of the protected objects that an object uses now. */
  readonly usedBy: (user: KubeObject) => readonly string[]
}

function userKind<U extends KubeObject>(user: Kind<U>, usedBy: (user: U) => readonly string[]): UserKind {
  return { kind: user, usedBy } as unknown as UserKind
}

/** Sets up the protection of claims: a pod that has not ended keeps those that it names. */
export function setUpClaimProtection(context: ControllerContext): void {
  const pods = userKind(Pod as unknown as Kind<PodWithClaims>, (pod) => (hasEnded(pod) ? [] : claimsOf(pod)))
  protect(context, 'pvc-protection-controller', Claim, protectionFinalizers['persistentvolumeclaims.']!, [pods])
}

/** Sets up the protection of volumes: the phase says whether a claim is bound. */
export function setUpVolumeProtection(context: ControllerContext): void {
  const finalizer = protectionFinalizers['persistentvolumes.']!
  protect(context, 'pv-protection-controller', Volume, finalizer, [], ({ status }) => status?.phase === 'Bound')
}

/** Sets up the protection of attribute classes: claims and volumes name them. */
export function setUpAttributesClassProtection(context: ControllerContext): void {
  const finalizer = protectionFinalizers['volumeattributesclasses.storage.k8s.io']!
  protect(context, 'vac-protection-controller', AttributesClass, finalizer, [
    userKind(Claim, classesOf),
    userKind(Volume, ({ spec }) => [spec?.volumeAttributesClassName].filter((name) => name !== undefined)),
  ])
}

function protect<T extends KubeObject>(
  context: ControllerContext,
  name: string,
  protectedKind: Kind<T>,
  finalizer: string,
  userKinds: readonly UserKind[],
  usesItself: (object: T) => boolean = () => false,
): void {
  const loop = context.manager.loop<string>({
    name,
    id: (key) => key,
    concurrency: 5,
    manager: controllerManager,
    run: async (key, { client, signal }) => {
      for (const informer of [objects, ...users.map((user) => user.informer)]) {
        await informer.waitForState(signal)
        // Who uses it is unknown: it stays protected.
        const read = informer.read()
        if (!read.known) throw read.reason
      }
      const object = objects.lastKnown.get(key)
      if (object === undefined || !isTerminating(object) || usesItself(object)) return
      const finalizers = object.metadata.finalizers ?? []
      if (!finalizers.includes(finalizer)) return
      for (const { informer, usedBy } of users)
        if (informer.lastKnown.list().some((user) => usedBy(user).includes(key))) return
      // The caches may not have seen the newest user yet.
      const { namespace } = object.metadata
      for (const { kind: userOf, usedBy } of users) {
        const { items } = await client.list(userOf, { ...(namespace && { namespace }), signal })
        if (items.some((user) => usedBy(user).includes(key))) return
      }
      const left = finalizers.filter((other) => other !== finalizer)
      try {
        await client.update({ ...object, metadata: { ...object.metadata, finalizers: left } })
      } catch (error) {
        // It was written again, which enqueues the item, or deleted.
        if (!isNotFound(error) && !isConflict(error)) throw error
      }
    },
    logFields: (key) => ({ kind: protectedKind.kind, key }),
  })
  const objects: Informer<T> = enqueueOn(context, loop, protectedKind, ({ type, object }) =>
    type !== 'removed' && isTerminating(object) ? [formatKey(keyOf(object))] : [],
  )
  const users = userKinds.map((user) => ({
    ...user,
    // Those that an object used, and may use no more.
    informer: enqueueOn(context, loop, user.kind, ({ type, object, previous }) => {
      if (type === 'removed') return user.usedBy(object)
      return type === 'changed' && previous !== undefined ? user.usedBy(previous) : []
    }),
  }))
}

function claimsOf(pod: PodWithClaims): readonly string[] {
  const { name, namespace } = pod.metadata
  return (pod.spec?.volumes ?? []).flatMap(({ name: volume, persistentVolumeClaim, ephemeral }) => {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? undefined : `${name}-${volume}`)
    return claim === undefined ? [] : [formatKey({ namespace: namespace!, name: claim })]
  })
}

function hasEnded({ status }: PodWithClaims): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

function classesOf({ spec, status }: Claim): readonly string[] {
  return [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name) => name !== undefined)
}
