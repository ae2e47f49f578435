// The output of `fairlead up`. The first line can be pasted into a shell; everything else is for reading.
import { join, relative } from 'node:path'
import type { Example } from './example.ts'
import { defaultData } from './options.ts'
import type { UpOptions } from './options.ts'

export interface Ready {
  readonly url: string
  readonly data: string | undefined
  readonly capabilities: readonly string[]
  readonly processes: readonly { readonly name: string; readonly address: string }[]
  readonly example: Example | undefined
  readonly milliseconds: number
  readonly warnings: readonly string[]
  /** Characters of a line of the terminal; undefined when there is none. */
  readonly columns: number | undefined
  /** The last line: how to stop the server. */
  readonly stop: string
}

const quote = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

/** Returns the line that points kubectl to this server. */
export function exportLine(kubeconfig: string): string {
  return `export KUBECONFIG=${quote(kubeconfig)}`
}

/** Returns what a terminal shows until the server is ready. */
export function startingText({ capabilities }: UpOptions): string {
  return `Starting the API server and the controllers ${capabilities.map(({ name }) => name).join(', ')} …\n`
}

/** Returns the line that says how to stop a server in the background. */
export function stopLine({ data }: UpOptions): string {
  return `fairlead down${data === undefined || data === defaultData ? '' : ` --data ${quote(data)}`} stops it; its log is ${quote(join(data ?? defaultData, 'up.log'))}.`
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
    lines.push(
      `  example      ${ready.example.name}: ${ready.example.summary}`,
      '',
      'In another terminal, with the line at the top, try:',
    )
    lines.push(...attemptLines(ready.example.attempts, ready.columns))
  }
  lines.push('', ready.stop, '')
  return lines.join('\n')
}

/** Returns commands with what they show: beside each other, or above each other where that is too wide. */
function attemptLines(attempts: Example['attempts'], columns = Infinity): readonly string[] {
  const width = Math.max(0, ...attempts.map(({ command }) => command.length))
  const beside = attempts.map(({ command, shows }) => `  ${command.padEnd(width)}   ${shows}`)
  if (beside.every((line) => line.length <= columns)) return beside
  return attempts.flatMap(({ command, shows }) => [`  # ${shows}`, `  ${command}`])
}
