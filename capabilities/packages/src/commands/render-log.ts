// Lines of `pkg render` and `pkg eval` while functions run: those of kpt, so that scripts that read them go on.
import type { RenderEvent } from '../engine/render/pipeline.ts'
import { formatResult } from '../engine/render/result-fields.ts'

/** Options of a log. */
export interface RenderLogOptions {
  /** The name of the root package, which is that of its folder. Undefined for a function that runs alone. */
  readonly rootName?: string
  /** Returns the time in milliseconds. */
  readonly now: () => number
}

/** Returns a listener that writes the events of a render as lines. */
export function renderLog(
  print: (line: string) => void,
  { rootName, now }: RenderLogOptions,
): (event: RenderEvent) => void {
  let started = now()
  const nameOf = (path: string): string => JSON.stringify(path === '' ? rootName : `${rootName}/${path}`)
  return (event) => {
    if (event.type === 'package') {
      if (rootName !== undefined) print(`Package ${nameOf(event.path)}:`)
      return
    }
    if (event.type === 'finished') {
      if (rootName !== undefined) print('')
      return
    }
    const { image = '', exec = '' } = event.step
    const name = JSON.stringify(image === '' ? exec : image)
    if (event.type === 'running') {
      started = now()
      const count = event.resources === undefined ? '' : ` on ${event.resources} resource(s)`
      print(`[RUNNING] ${name}${count}${rootName === undefined ? '' : ` on package ${nameOf(event.path)}`}`)
      return
    }
    const duration = Math.round(now() - started)
    print(`[${event.type === 'passed' ? 'PASS' : 'FAIL'}] ${name} in ${duration === 0 ? '0s' : `${duration}ms`}`)
    const { results = [], stderr = '', exitCode, executionError } = event.step
    if (results.length > 0)
      section(
        print,
        '[Results]',
        results.flatMap((result) => formatResult(result).split('\n')),
      )
    if (stderr !== '') section(print, 'Stderr', stderr.split('\n'))
    if (event.type === 'failed' && executionError === undefined) print(`  Exit code: ${exitCode}`)
  }
}

function section(print: (line: string) => void, title: string, lines: readonly string[]): void {
  print(`  ${title}:`)
  for (const line of lines) print(`    ${line}`)
}
