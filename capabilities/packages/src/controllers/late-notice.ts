// The status of a Repository while a read takes longer than a moment: a remote that hangs is seen at once, not when git
// is given up.
import type { ReconcileContext, StatusFields } from '@fairlead/controller'
import { condition } from '@fairlead/kube'
import type { Clock, Condition } from '@fairlead/kube'
import type { Repository } from '../api.ts'

/** Milliseconds after which the status says what a read waits for. */
const lateAfter = 700

/** Options of a {@link LateNotice}. */
export interface LateNoticeOptions {
  readonly context: Pick<ReconcileContext<Repository>, 'object' | 'status'>
  readonly clock: Clock
  /** Returns the counts of the revisions of an earlier read that are served; undefined when there are none. */
  readonly served: () => StatusFields | undefined
}

/** The notice of one read. A status that already says what is wrong stays. */
export class LateNotice {
  readonly #options: LateNoticeOptions
  readonly #timer: Disposable
  #waitsFor: string
  #written: Promise<void> | undefined

  /** Starts the time of a read; `waitsFor` is a sentence without its full stop. */
  constructor(options: LateNoticeOptions, waitsFor: string) {
    this.#options = options
    this.#waitsFor = waitsFor
    // What cannot be written is written by the status at the end, or is its error.
    this.#timer = options.clock.timer(lateAfter, () => {
      this.#written = this.#write().catch(() => undefined)
    })
  }

  /** Replaces what is waited for. */
  waitsFor(sentence: string): void {
    this.#waitsFor = sentence
  }

  /** Ends the notice; resolves when nothing of it is being written. */
  async end(): Promise<void> {
    this.#timer[Symbol.dispose]()
    await this.#written
  }

  async #write(): Promise<void> {
    const { context, served } = this.#options
    const { metadata, status } = context.object
    const { conditions = [], observedGeneration: _generation, ...fields } = status ?? {}
    const before = conditions.find(({ type }) => type === 'Ready')
    const isCurrent = before?.observedGeneration === metadata.generation
    if (isCurrent && before?.status === 'False' && before.reason !== 'Reconciling') return
    const counts = served()
    const ready = this.#ready(counts !== undefined, fields.lastFullSyncTime)
    await context.status.apply({ ...fields, ...counts, conditions: [ready] })
  }

  #ready(isServed: boolean, readAt: string | undefined): Condition {
    const served = readAt === undefined ? '' : `The revisions of ${readAt} are served. `
    const message = `${isServed ? served : ''}${this.#waitsFor}`
    return condition('Ready', isServed, { reason: 'Reconciling', message })
  }
}
