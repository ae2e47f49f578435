// The builder: `manager.controller('web').for(Web).owns(Deployment).watches(Secret, webOf).reconcile(run)`.
import { toKind } from '@fairlead/client'
import type { KindLike } from '@fairlead/client'
import { formatKey } from '@fairlead/kube'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import type { EventRecorder } from '../event-recorder.ts'
import type { Informer, InformerScope } from '../informer/informer.ts'
import type { Result } from '../result.ts'
import type { WorkLoopOptions } from '../work/work-loop-options.ts'
import type { WorkLoop } from '../work/work-loop.ts'
import { Controller, ObjectRunner, ownerKeys } from './controller.ts'
import type { DeletedContext, ReconcileContext } from './controller.ts'
import type { Predicate } from './predicate.ts'

/** The manager's side of a builder. */
export interface ControllerHost {
  loop(options: WorkLoopOptions<string>): WorkLoop<string>
  recorder(controller: string): EventRecorder
  /** Starts the controller as soon as the manager works. */
  launch(controller: Controller): void
}

/** Filters the objects of a kind and their changes. */
export interface SourceOptions<T extends KubeObject> extends InformerScope {
  /** Filters changes: those that do not pass enqueue no object. */
  readonly when?: Predicate<T>
}

/** Options of a controller. */
export interface ControllerOptions {
  /** Objects reconciled at a time; 1 when left out. */
  readonly concurrency?: number
  /** Changes of its own objects (not of what they own) must pass all of these. */
  readonly predicates?: readonly Predicate[]
  /** Field manager; `fairlead-<name>` when left out. */
  readonly manager?: string
  /**
   * Every replica reconciles every object, whatever its shards; use {@link Manager.owns} for what only one replica may
   * do.
   */
  readonly everywhere?: boolean
  /**
   * Sets the condition Ready to False on failures, the first included; true when left out. Kubernetes' own kinds, and
   * objects whose Ready another controller writes, are left as they are until this controller applies a status.
   */
  readonly keepReady?: boolean
  /**
   * Reconciles objects although the cache of their kind is not synced any more; false when left out: they wait until it
   * is. A controller that sets it looks at {@link Controller.informer} itself, for example to report it in a status.
   */
  readonly reconcilesUnknown?: boolean
}

interface Source {
  readonly kind: KindLike
  readonly options: SourceOptions<KubeObject>
  /** Returns the keys that an object concerns; its controlling owner when undefined. */
  readonly keysOf: ((object: KubeObject) => Iterable<ObjectKey | string>) | undefined
}

/** The first step of the builder: the kind to reconcile. */
export class ControllerBuilder {
  readonly #host: ControllerHost
  readonly #name: string

  constructor(host: ControllerHost, name: string) {
    this.#host = host
    this.#name = name
  }

  /** Sets the kind whose objects are reconciled. */
  for<T extends KubeObject>(kind: KindLike<T>, options: SourceOptions<T> = {}): ObjectControllerBuilder<T> {
    return new ObjectControllerBuilder(this.#host, this.#name, kind, options)
  }
}

/** The other steps, in any order; {@link ObjectControllerBuilder.reconcile} is the last. */
export class ObjectControllerBuilder<T extends KubeObject> {
  readonly #host: ControllerHost
  readonly #name: string
  readonly #kind: KindLike<T>
  readonly #primary: SourceOptions<T>
  readonly #sources: Source[] = []
  #options: ControllerOptions = {}
  #onDeleted: ((context: DeletedContext) => Promise<Result> | Result) | undefined
  #finalizer: { readonly name: string; cleanup(context: ReconcileContext<T>): Promise<Result> | Result } | undefined

  constructor(host: ControllerHost, name: string, kind: KindLike<T>, primary: SourceOptions<T>) {
    this.#host = host
    this.#name = name
    this.#kind = kind
    this.#primary = primary
  }

  /** Enqueues the object that controls a changed object of this kind (its owner reference with `controller: true`). */
  owns<O extends KubeObject>(kind: KindLike<O>, options: SourceOptions<O> = {}): this {
    this.#sources.push({ kind, options: options as unknown as SourceOptions<KubeObject>, keysOf: undefined })
    return this
  }

  /**
   * Enqueues the keys that `keysOf` returns for a changed object of this kind, for its state before and after the
   * change.
   */
  watches<O extends KubeObject>(
    kind: KindLike<O>,
    keysOf: (object: O) => Iterable<ObjectKey | string>,
    options: SourceOptions<O> = {},
  ): this {
    this.#sources.push({
      kind,
      options: options as unknown as SourceOptions<KubeObject>,
      keysOf: keysOf as unknown as Source['keysOf'],
    })
    return this
  }

  /** Sets options; later calls add to earlier ones. */
  withOptions(options: ControllerOptions): this {
    this.#options = { ...this.#options, ...options }
    return this
  }

  /**
   * Adds a finalizer (`<group>/<what>`) to every object before it is reconciled, and removes it once `cleanup` of a
   * deleted object has succeeded.
   */
  finalizer(name: string, cleanup: (context: ReconcileContext<T>) => Promise<Result> | Result): this {
    this.#finalizer = { name, cleanup }
    return this
  }

  /** Sets the function that is called for a key whose object does not exist. */
  onDeleted(run: (context: DeletedContext) => Promise<Result> | Result): this {
    this.#onDeleted = run
    return this
  }

  /** Sets the reconcile function and returns the controller, which runs as soon as its manager works. */
  reconcile(run: (context: ReconcileContext<T>) => Promise<Result> | Result): Controller<T> {
    const kind = toKind(this.#kind)
    const { concurrency, everywhere, manager, predicates = [] } = this.#options
    const { keepReady = true, reconcilesUnknown = false } = this.#options
    const recorder = this.#host.recorder(this.#name)
    let primary: Informer<T>
    const runner = new ObjectRunner<T>(
      { reconcile: run, onDeleted: this.#onDeleted, finalizer: this.#finalizer, keepReady, reconcilesUnknown },
      recorder,
      () => primary,
    )
    const loop = this.#host.loop({
      name: this.#name,
      id: (key) => key,
      namespaceOf: (key) => (key.includes('/') ? key.slice(0, key.indexOf('/')) : undefined),
      concurrency,
      everywhere,
      manager,
      run: (key, context) => runner.run(key, context),
      failed: (key, error, context) => runner.failed(key, error, context),
      logFields: (key) => ({ kind: kind.kind, key }),
    })
    const passes = allPass<T>([
      ...(this.#primary.when === undefined ? [] : [this.#primary.when]),
      ...(predicates as readonly Predicate<T>[]),
    ])
    const when: Predicate<T> = (change) => {
      runner.observed(keyText(change.object), change)
      return passes?.(change) ?? true
    }
    primary = loop.watch(kind, (object) => [keyText(object)], { ...this.#primary, when }).informer
    const wakeWaiting = (): void => {
      for (const key of runner.takeWaiting()) loop.add(key)
    }
    const subscription = primary.subscribe({ state: wakeWaiting }, { replay: false })
    loop.onStopped(() => subscription[Symbol.dispose]())
    for (const { kind: watched, options, keysOf } of this.#sources) {
      const keys = keysOf ?? ((object: KubeObject) => ownerKeys(kind, object, (key) => primary.lastKnown.has(key)))
      loop.watch(
        watched,
        (object) => Array.from(keys(object), (key) => (typeof key === 'string' ? key : formatKey(key))),
        options,
      )
    }
    const controller = new Controller(kind, loop, primary)
    this.#host.launch(controller as unknown as Controller)
    return controller
  }
}

function allPass<T extends KubeObject>(predicates: readonly Predicate<T>[]): Predicate<T> | undefined {
  return predicates.length === 0 ? undefined : (change) => predicates.every((predicate) => predicate(change))
}

function keyText(object: KubeObject): string {
  return object.metadata.namespace ? `${object.metadata.namespace}/${object.metadata.name}` : object.metadata.name!
}
