// The surroundings that the services of the fake share.
import type { Script } from './script.ts'

/** An input or output, with the names of the API. */
export type Fields = Readonly<Record<string, unknown>>

/** The surroundings of a service of the fake. */
export interface FakeContext {
  readonly account: string
  /** Milliseconds since the epoch. */
  now(): number
  script(): Script
  /** Records a call that AWS takes, but that a careful controller would not have made. */
  violation(message: string): void
}
