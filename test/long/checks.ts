// Counters of the checks of a long run. Closes with `N passed, N failed`.

/** Counts the checks of one run. */
export class Checks {
  passed = 0
  readonly failures: string[] = []

  /** Counts one check; the first failures are printed at once. */
  check(holds: boolean, what: string): void {
    if (holds) this.passed++
    else if (this.failures.push(what) <= 20) console.log(`  FAILED: ${what}`)
  }

  /** Prints the closing line and sets how the process ends. */
  close(): void {
    console.log(`${this.passed} passed, ${this.failures.length} failed`)
    process.exitCode = this.failures.length === 0 ? 0 : 1
  }
}
