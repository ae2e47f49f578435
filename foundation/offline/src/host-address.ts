// The flag `--resolve name=host:port`: addresses of host names that resolve only in a cluster.
import { usageError } from './command-error.ts'

/** Returns the addresses of the flag by host name. Throws a usage error for a value of another form. */
export function hostAddresses(values: readonly string[]): ReadonlyMap<string, string> {
  return new Map(values.map(parse))
}

function parse(value: string): [string, string] {
  const match = /^([^=\s]+)=([^=\s]+:\d+)$/.exec(value)
  if (!match)
    throw usageError(`--resolve ${value}: write name=host:port, for example my-hook.my-namespace=127.0.0.1:8080`)
  return [match[1]!, match[2]!]
}
