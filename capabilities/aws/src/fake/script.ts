// The script of the fake: how long things take, and what fails.

/** A failure of calls. */
export interface ScriptedFailure {
  /** Number of calls that fail. */
  readonly times: number
  /** Code of the error; InternalFailure when left out. */
  readonly code?: string
  /** HTTP status; 400 when left out. */
  readonly status?: number
  /**
   * Response over HTTP: the error when left out; `reset` closes the connection, `hang` never responds, `garbage` is a
   * 200 that is no response of AWS.
   */
  readonly as?: 'error' | 'reset' | 'hang' | 'garbage'
  /** Set when the call takes effect, and only its response is lost. */
  readonly tookEffect?: boolean
}

/** A script. Times in milliseconds. */
export interface Script {
  /** Time that an endpoint is being created. */
  readonly endpointCreating: number
  readonly endpointUpdating: number
  readonly endpointDeleting: number
  /** Time until a new role can be assumed. */
  readonly rolePropagation: number
  /** Time until reads of IAM see a new entity. */
  readonly iamVisibility: number
  /** Time that every call takes. */
  readonly latency: number
  /** Names of endpoints whose creation or update fails, with the reason. */
  readonly failingEndpoints: Readonly<Record<string, string>>
  /**
   * Calls to fail: `CreateModel` -> how many of the next ones, and how. `*` is every operation, each counted by itself.
   */
  readonly failures: Readonly<Record<string, ScriptedFailure>>
}

/** Everything happens at once, and nothing fails. */
export const quickScript: Script = {
  endpointCreating: 0,
  endpointUpdating: 0,
  endpointDeleting: 0,
  rolePropagation: 0,
  iamVisibility: 0,
  latency: 0,
  failingEndpoints: {},
  failures: {},
}
