// The help of `fairlead apiserver`. Test environments run `--help` at each start and look for flags at the beginning of
// lines, so ignored ones are named inside a paragraph.
import { honouredFlags } from './known-flags.ts'

/** Returns the text of `--help`; `name` is what the user typed. */
export function apiserverHelp(name: string): string {
  const lines = honouredFlags.map((flag) => [
    `--${flag.name}${flag.value === undefined ? '' : ` <${flag.value}>`}`,
    flag,
  ])
  return `Run the Kubernetes API server alone, with the flags of kube-apiserver.

Examples:
  ${name} --secure-port 0 --write-kubeconfig ./kubeconfig
  ${name} --data ./state --controllers all --authorization-mode RBAC --write-kubeconfig ./kubeconfig
  KUBEBUILDER_ASSETS="$(fairlead envtest use -p path)" go test ./...

Usage: ${name} [flags]

Flags, as --name=value or --name value:
${lines.map(([left, flag]) => `  ${String(left).padEnd(44)}${(flag as { description: string }).description}\n`).join('')}
Further flags of kube-apiserver are accepted and have no effect: those of etcd, logs, limits and kubelets without a word,
all others with a line that says so.

Exit codes: 0, 1 error, 2 usage.
`
}
