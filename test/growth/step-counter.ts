// Counts what JavaScript executes: the runs of all blocks, as V8's coverage counts them. The same work has the same
// count on every machine, however busy it is. Loops inside of native functions (`includes`, `indexOf`) do not count.
import { Session } from 'node:inspector/promises'

/** Counts the steps of this thread. */
export class StepCounter implements AsyncDisposable {
  readonly #session = new Session()

  static async start(): Promise<StepCounter> {
    const counter = new StepCounter()
    counter.#session.connect()
    await counter.#session.post('Profiler.enable')
    await counter.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    return counter
  }

  /** Returns the steps of a run. Nothing else should run meanwhile. */
  async count(run: () => Promise<unknown>): Promise<number> {
    await this.#session.post('Profiler.takePreciseCoverage')
    await run()
    const { result } = await this.#session.post('Profiler.takePreciseCoverage')
    let steps = 0
    for (const { functions } of result)
      for (const { ranges } of functions) for (const { count } of ranges) steps += count
    return steps
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
  }
}
