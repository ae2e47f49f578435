// The values that a client may find after a server was killed: the last acknowledged one of each name, or one that
// was in flight.

interface Account {
  /** undefined: it is not there. */
  acknowledged: string | undefined
  underWay: { readonly value: string | undefined } | undefined
  busy: boolean
  deleted: boolean
}

/** The expected values of all names. One write per name at a time. */
export class Ledger {
  readonly #accounts = new Map<string, Account>()
  #last = 0
  acknowledged = 0

  /** Takes a name for one write; false when another write of it is under way or its state is not settled. */
  begin(name: string): boolean {
    const account = this.#account(name)
    if (account.busy || account.underWay !== undefined) return false
    account.busy = true
    return true
  }

  end(name: string): void {
    this.#account(name).busy = false
  }

  nextValue(): string {
    return `v${++this.#last}`
  }

  exists(name: string): boolean {
    return this.#account(name).acknowledged !== undefined
  }

  tries(name: string, value: string | undefined): void {
    this.#account(name).underWay = { value }
  }

  acknowledge(name: string, value: string | undefined): void {
    const account = this.#account(name)
    account.acknowledged = value
    account.underWay = undefined
    if (value === undefined) account.deleted = true
    this.acknowledged++
  }

  leaveUnsettled(name: string): void {
    this.#account(name).busy = false
  }

  isUnsettled(name: string): boolean {
    return this.#account(name).underWay !== undefined
  }

  isPossible(name: string, value: string | undefined): boolean {
    const account = this.#account(name)
    return value === account.acknowledged || (account.underWay !== undefined && value === account.underWay.value)
  }

  /** Takes what was read after a restart as the truth. */
  settle(now: ReadonlyMap<string, string | undefined>): void {
    for (const [name, account] of this.#accounts) {
      if (account.underWay !== undefined && account.underWay.value === undefined) account.deleted = true
      account.acknowledged = now.get(name)
      account.underWay = undefined
      account.busy = false
    }
  }

  wasDeleted(name: string): boolean {
    return this.#account(name).deleted
  }

  forgetDeletions(): void {
    for (const account of this.#accounts.values()) account.deleted = false
  }

  names(): string[] {
    return [...this.#accounts.keys()]
  }

  describe(name: string): string {
    const { acknowledged, underWay } = this.#account(name)
    return `${acknowledged ?? 'gone'}${underWay ? `, under way ${underWay.value ?? 'its deletion'}` : ''}`
  }

  #account(name: string): Account {
    let account = this.#accounts.get(name)
    if (account === undefined) {
      account = { acknowledged: undefined, underWay: undefined, busy: false, deleted: false }
      this.#accounts.set(name, account)
    }
    return account
  }
}
