// The client of commands that may use a cluster: kubectl's flags over kubectl's configuration.
import { existsSync } from 'node:fs'
import { connect, isInCluster, loadKubeconfig } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { CommandError } from '@fairlead/offline/command-error'

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** The kubeconfig of `fairlead up` in its default data folder. */
const localKubeconfig = '.fairlead/kubeconfig'

/**
 * Returns a client for the cluster that `--kubeconfig`, `--context` and `-n` name. Throws CommandError when nothing
 * names a cluster.
 */
export async function clientFromKubeconfig(options: Readonly<Record<string, unknown>>): Promise<Client> {
  const [file, context] = [textOf(options['kubeconfig']), textOf(options['context'])]
  if (file === undefined && !isInCluster() && (await loadKubeconfig()).isEmpty) throw noKubeconfig()
  return connect({ file, context, namespace: textOf(options['namespace']) })
}

function noKubeconfig(): CommandError {
  const advice = existsSync(localKubeconfig)
    ? `the server of this folder has one: export KUBECONFIG=$PWD/${localKubeconfig}, or --kubeconfig ${localKubeconfig}`
    : 'name one with KUBECONFIG or --kubeconfig, or start a server with `fairlead up`'
  return new CommandError(`there is no kubeconfig: ${advice}`)
}
