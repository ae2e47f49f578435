// The context of every controller inside the server, and its subscription: shared informers whose events enqueue items
// after a delay.
import type { KindLike } from '@fairlead/client'
import type { Informer, InformerScope, Manager, ObjectChange, WorkLoop } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { AllResourcesInformer, ResourceSource } from './all-resources-informer.ts'

/** The field manager of a real cluster's controller manager. */
export const controllerManager = 'kube-controller-manager'

/** The context that a controller is set up with. */
export interface ControllerContext {
  readonly manager: Manager
  readonly resources: ResourceSource
  /** Returns the informers of all resources, started once one controller uses them. */
  allResources(): AllResourcesInformer
  /** Milliseconds between an event and its reconcile. */
  readonly delay: number
  /** Disposes `dispose` when the controllers stop. */
  onStop(dispose: Disposable): void
}

/** Enqueues items `delay` milliseconds after an object of a kind was added, modified or deleted. */
export function enqueueOn<T, O extends KubeObject>(
  context: ControllerContext,
  loop: WorkLoop<T>,
  kind: KindLike<O>,
  itemsOf: (change: ObjectChange<O>, objects: Informer<O>) => Iterable<T>,
  scope: InformerScope = {},
): Informer<O> {
  const use = context.manager.use(kind, scope)
  context.onStop(use)
  context.onStop(
    use.informer.subscribe({
      changed: (change) => {
        for (const item of itemsOf(change, use.informer)) loop.queue.addAfter(item, context.delay)
      },
    }),
  )
  return use.informer
}
