// When revisions were written, remembered about every half minute: compaction is by age, reads name revisions.

/** Milliseconds between two remembered revisions. */
const sampleEvery = 30_000

/** The times of some revisions, oldest first. */
export class RevisionTimes {
  #samples: { readonly at: number; readonly revision: number }[] = []

  /** Remembers a revision and the time when it was written. Called in revision order; most calls change nothing. */
  add(revision: number, at: number): void {
    const last = this.#samples.at(-1)
    if (last === undefined || at - last.at >= sampleEvery) this.#samples.push({ at, revision })
  }

  /** Returns the newest remembered revision that was written at or before a time, 0 without one; forgets older ones. */
  at(time: number): number {
    const next = this.#samples.findIndex(({ at }) => at > time)
    const newest = (next < 0 ? this.#samples.length : next) - 1
    if (newest < 0) return 0
    this.#samples = this.#samples.slice(newest)
    return this.#samples[0]!.revision
  }
}
