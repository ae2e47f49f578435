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

/** Sets up the protection of claims: a pod that has not ended keeps those that it names. */
export function setUpClaimProtection(context: ControllerContext): void {
  protect(context, 'pvc-protection-controller', Claim, protectionFinalizers['persistentvolumeclaims.']!, (enqueue) => {
    const pods = useOf(context, Pod as unknown as Kind<PodWithClaims>, (pod) => claimsOf(pod).forEach(enqueue))
    return {
      users: [pods],
      isUsed: (claim) => {
        const key = formatKey(keyOf(claim))
        return pods.lastKnown.list().some((pod) => !hasEnded(pod) && claimsOf(pod).includes(key))
      },
    }
  })
}

/** Sets up the protection of volumes: the phase says whether a claim is bound. */
export function setUpVolumeProtection(context: ControllerContext): void {
  protect(context, 'pv-protection-controller', Volume, protectionFinalizers['persistentvolumes.']!, () => ({
    users: [],
    isUsed: ({ status }) => status?.phase === 'Bound',
  }))
}

/** Sets up the protection of attribute classes: claims and volumes name them. */
export function setUpAttributesClassProtection(context: ControllerContext): void {
  const finalizer = protectionFinalizers['volumeattributesclasses.storage.k8s.io']!
  protect(context, 'vac-protection-controller', AttributesClass, finalizer, (enqueue) => {
    const claims = useOf(context, Claim, (claim) => classesOf(claim).forEach(enqueue))
    const volumes = useOf(context, Volume, ({ spec }) => enqueue(spec?.volumeAttributesClassName ?? ''))
    return {
      users: [claims, volumes],
      isUsed: ({ metadata: { name } }) =>
        claims.lastKnown.list().some((claim) => classesOf(claim).includes(name!)) ||
        volumes.lastKnown.list().some(({ spec }) => spec?.volumeAttributesClassName === name),
    }
  })
}

/** The objects that use the protected ones. */
interface Usage<T> {
  readonly users: readonly Pick<Informer<KubeObject>, 'waitForState' | 'read'>[]
  isUsed(object: T): boolean
}

function protect<T extends KubeObject>(
  context: ControllerContext,
  name: string,
  protectedKind: Kind<T>,
  finalizer: string,
  usageOf: (enqueue: (key: string) => void) => Usage<T>,
): void {
  const loop = context.manager.loop<string>({
    name,
    id: (key) => key,
    concurrency: 5,
    manager: controllerManager,
    run: async (key, { client, signal }) => {
      for (const informer of [objects, ...usage.users]) {
        await informer.waitForState(signal)
        // Who uses it is unknown: it stays protected.
        const read = informer.read()
        if (!read.known) throw read.reason
      }
      const object = objects.lastKnown.get(key)
      if (object === undefined || !isTerminating(object) || usage.isUsed(object)) return
      const finalizers = object.metadata.finalizers ?? []
      if (!finalizers.includes(finalizer)) return
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
  const usage = usageOf((key) => loop.queue.addAfter(key, context.delay))
}

/** Subscribes to objects that use others; `released` is called with those that may have stopped to. */
function useOf<T extends KubeObject>(
  context: ControllerContext,
  user: Kind<T>,
  released: (object: T) => void,
): Informer<T> {
  const use = context.manager.use(user, {})
  context.onStop(use)
  context.onStop(
    use.informer.subscribe({
      changed: ({ type, object, previous }) => {
        if (type === 'removed') released(object)
        else if (type === 'changed' && previous !== undefined) released(previous)
      },
    }),
  )
  return use.informer
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
