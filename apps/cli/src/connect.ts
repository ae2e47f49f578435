// The client of commands that may use a cluster: kubectl's flags over kubectl's configuration.
import { connect } from '@fairlead/client'
import type { Client } from '@fairlead/client'

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Returns a client for the cluster that `--kubeconfig`, `--context` and `-n` name. */
export function clientFromKubeconfig(options: Readonly<Record<string, unknown>>): Promise<Client> {
  return connect({
    file: textOf(options['kubeconfig']),
    context: textOf(options['context']),
    namespace: textOf(options['namespace']),
  })
}
