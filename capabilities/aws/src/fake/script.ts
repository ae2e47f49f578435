// The script of the fake: how long things take, and what fails.

/** A script. Times in milliseconds. */
export interface Script {
  /** Time that an endpoint is being created. */
  readonly endpointCreating: number
  readonly endpointUpdating: number
  readonly endpointDeleting: number
  /** Time until a new role can be assumed. */
  readonly rolePropagation: number
  /** Time that every call takes. */
  readonly latency: number
  /** Names of endpoints whose creation or update fails, with the reason. */
  readonly failingEndpoints: Readonly<Record<string, string>>
  /** Calls to fail: `CreateModel` -> how many of the next ones, with which code. */
  readonly failures: Readonly<
    Record<string, { readonly times: number; readonly code: string; readonly status?: number }>
  >
}

/** Everything happens at once, and nothing fails. */
export const quickScript: Script = {
  endpointCreating: 0,
  endpointUpdating: 0,
  endpointDeleting: 0,
  rolePropagation: 0,
  latency: 0,
  failingEndpoints: {},
  failures: {},
}
