// What every controller inside the server is set up with, and how it listens: through shared caches, acting some time after the cause.
import type { KindLike } from '@fairlead/client'
import type { Informer, InformerScope, Manager, ObjectChange, WorkLoop } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { AllResourcesInformer, ResourceSource } from './all-resources-informer.ts'

/** The field manager of what a controller manager of a real cluster writes. */
export const controllerManager = 'kube-controller-manager'

/** The surroundings of one controller. */
export interface ControllerContext {
  readonly manager: Manager
  readonly resources: ResourceSource
  /** Caches of all kinds, followed as soon as one controller asked for them. */
  allResources(): AllResourcesInformer
  /** Milliseconds between a cause and the act. */
  readonly delay: number
  /** Runs when the controllers stop. */
  onStop(dispose: Disposable): void
}

/** Wakes items `delay` milliseconds after an object of a kind came, changed or went. */
export function wake<T, O extends KubeObject>(
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
