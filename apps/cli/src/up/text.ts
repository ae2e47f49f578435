// The output of `fairlead up`. The first line can be pasted into a shell; everything else is for reading.
import { relative } from 'node:path'
import type { Example } from './example.ts'

export interface Ready {
  readonly kubeconfig: string
  readonly url: string
  readonly data: string | undefined
  readonly capabilities: readonly string[]
  readonly processes: readonly { readonly name: string; readonly address: string }[]
  readonly example: Example | undefined
  readonly milliseconds: number
  readonly warnings: readonly string[]
}

const quote = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

/** Returns the line that points kubectl to this server. */
export function exportLine(kubeconfig: string): string {
  return `export KUBECONFIG=${quote(kubeconfig)}`
}

/** Returns everything after the first line. */
export function readyText(ready: Ready): string {
  const seconds = (ready.milliseconds / 1000).toFixed(1)
  const lines = [
    '',
    `Fairlead is ready after ${seconds} s.`,
    `  API server   ${ready.url}`,
    `  controllers  ${ready.capabilities.join(', ') || 'none'}`,
    `  data         ${ready.data === undefined ? 'in memory, lost when this stops' : relative(process.cwd(), ready.data) || '.'}`,
    ...ready.processes.map((entry) => `  process      ${entry.name} on ${entry.address}`),
    ...ready.warnings.map((warning) => `  note         ${warning}`),
  ]
  if (ready.example === undefined) {
    lines.push(
      '',
      'In another terminal, with the line at the top:',
      '  kubectl api-resources',
      '  kubectl apply -f your-manifests.yaml',
      '',
      'A first example: fairlead up --example snapshot-schedule',
    )
  } else {
    const width = Math.max(0, ...ready.example.attempts.map((attempt) => attempt.command.length))
    lines.push(
      `  example      ${ready.example.name}: ${ready.example.summary}`,
      '',
      'In another terminal, with the line at the top, try:',
    )
    lines.push(...ready.example.attempts.map((attempt) => `  ${attempt.command.padEnd(width)}   ${attempt.shows}`))
  }
  lines.push('', 'Ctrl-C stops it.', '')
  return lines.join('\n')
}
