// Declares `fairlead apiserver` and `fairlead envtest use`; their implementations load when one of them runs.
import type { Command } from 'commander'
import { describe } from '../help-text.ts'
import { honouredFlags } from './known-flags.ts'

/** Adds both commands. */
export function addApiserverCommands(root: Command): void {
  // Declared for the list of commands, completion and the reference: main.ts runs it with its arguments as they are.
  const apiserver = root.command('apiserver').helpOption(false)
  for (const { name, value, description } of honouredFlags)
    apiserver.option(`--${name}${value === undefined ? '' : ` <${value}>`}`, description)
  describe(apiserver, 'run the Kubernetes API server alone, with the flags of kube-apiserver', [
    'fairlead apiserver --secure-port 0 --write-kubeconfig ./kubeconfig',
    'fairlead apiserver --data ./state --controllers all --authorization-mode RBAC --write-kubeconfig ./kubeconfig',
  ])
  const envtest = root.command('envtest')
  describe(envtest, 'test controllers in Go, Java, Python or Rust with the API server of Fairlead', [])
  const use = envtest
    .command('use')
    .argument('[version]', 'version of Kubernetes; this server is one of them only')
    .option('-p, --print <form>', 'what to print: overview, path or env', 'overview')
    .option('--bin-dir <folder>', 'where to write the folder; the cache folder of the user when left out')
    .action(async (wanted: string | undefined, options: { print: string; binDir?: string }) => {
      const { useAssets } = await import('./envtest.ts')
      useAssets({ wanted, print: options.print, folder: options.binDir })
    })
  describe(
    use,
    'write a folder for KUBEBUILDER_ASSETS: kube-apiserver, etcd and kubectl',
    ['export KUBEBUILDER_ASSETS="$(fairlead envtest use -p path)"', 'source <(fairlead envtest use -p env)'],
    'kube-apiserver stores objects in memory, etcd only answers that it is healthy, kubectl is the one on the PATH.',
  )
}
