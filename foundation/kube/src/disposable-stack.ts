// ECMAScript's disposable stacks, which Node has from version 24 on: the packages run on Node 22 as well, and define no
// globals there.

type Step = () => void | PromiseLike<void>

/** Resources that are disposed together, the last one first. */
export class DisposableStack implements Disposable {
  #steps: (() => void)[] = []
  #disposed = false

  get disposed(): boolean {
    return this.#disposed
  }

  /** Adds a resource and returns it; null and undefined add nothing. */
  use<T extends Disposable | null | undefined>(resource: T): T {
    if (resource) this.defer(() => resource[Symbol.dispose]())
    return resource
  }

  /** Adds a function to call. */
  defer(step: () => void): void {
    throwIfDisposed(this.#disposed)
    this.#steps.push(step)
  }

  /** Returns a stack with these resources; this one is disposed without them. */
  move(): DisposableStack {
    throwIfDisposed(this.#disposed)
    const moved = new DisposableStack()
    moved.#steps = this.#steps
    this.#steps = []
    this.#disposed = true
    return moved
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    const errors: unknown[] = []
    for (const step of this.#steps.splice(0).reverse()) {
      try {
        step()
      } catch (error) {
        errors.push(error)
      }
    }
    throwAll(errors)
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

/** Resources that are disposed together, one after another, the last one first. */
export class AsyncDisposableStack implements AsyncDisposable {
  #steps: Step[] = []
  #disposed = false

  get disposed(): boolean {
    return this.#disposed
  }

  /** Adds a resource and returns it; null and undefined add nothing. */
  use<T extends AsyncDisposable | Disposable | null | undefined>(resource: T): T {
    if (resource)
      this.defer(() => (Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose]()))
    return resource
  }

  /** Adds a function to call and to await. */
  defer(step: Step): void {
    throwIfDisposed(this.#disposed)
    this.#steps.push(step)
  }

  /** Returns a stack with these resources; this one is disposed without them. */
  move(): AsyncDisposableStack {
    throwIfDisposed(this.#disposed)
    const moved = new AsyncDisposableStack()
    moved.#steps = this.#steps
    this.#steps = []
    this.#disposed = true
    return moved
  }

  async disposeAsync(): Promise<void> {
    if (this.#disposed) return
    this.#disposed = true
    const errors: unknown[] = []
    for (const step of this.#steps.splice(0).reverse()) {
      try {
        await step()
      } catch (error) {
        errors.push(error)
      }
    }
    throwAll(errors)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync()
  }
}

function throwIfDisposed(isDisposed: boolean): void {
  if (isDisposed) throw new ReferenceError('The stack is disposed already')
}

function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1) throw new AggregateError(errors, 'Several resources could not be disposed')
}
