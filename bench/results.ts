// RESULTS.md: what the benchmarks said when they were last run with `--write`, one section each, with where and when.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, loadavg, platform, totalmem } from 'node:os'
import { join } from 'node:path'
import { verdict } from './figure.ts'
import type { Figure } from './figure.ts'
import { limits } from './limits.ts'

const file = join(import.meta.dirname, 'RESULTS.md')
const title =
  '# Results of the benchmarks\n\nWritten by `npm run bench -- [NAME …] --write`; a section stays until its benchmark is run again.\n'

/** Puts the figures in place of those that the section had. */
export function writeResults(name: string, figures: readonly Figure[]): void {
  const sections = new Map<string, string>()
  for (const section of existsSync(file)
    ? readFileSync(file, 'utf8')
        .split(/^(?=## )/m)
        .slice(1)
    : [])
    sections.set(/^## (\S+)/.exec(section)![1]!, section.trimEnd())
  sections.set(name, sectionOf(name, figures))
  const texts = [...sections].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, text]) => text)
  writeFileSync(file, `${title}\n${texts.join('\n\n')}\n`)
}

function sectionOf(name: string, figures: readonly Figure[]): string {
  const hasPeer = figures.some(({ peer }) => peer !== undefined)
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const head = ['figure', 'ours', ...(hasPeer ? ['peer'] : []), 'asked', '']
  const rows = figures.map((figure) => [
    figure.figure,
    figure.reached,
    ...(hasPeer ? [figure.peer ?? '-'] : []),
    figure.asked,
    verdict(figure),
  ])
  const reasons = figures
    .filter(({ holds, figure }) => holds === false && limits[figure] !== undefined)
    .map(({ figure }) => `- ${figure}: ${limits[figure]!}`)
  return [
    `## ${name}`,
    '',
    `${machine()}, ${new Date(performance.timeOrigin).toISOString().slice(0, 16)}Z, commit ${commit()}`,
    '',
    ...[head, head.map(() => '---'), ...rows].map(row),
    ...(reasons.length === 0 ? [] : ['', 'What limits those that were missed:', '', ...reasons]),
  ].join('\n')
}

function machine(): string {
  const processors = cpus()
  const memory = (totalmem() / 2 ** 30).toFixed(0)
  const model = processors[0]?.model ?? arch()
  const load = loadavg()[2]!.toFixed(1)
  return `${processors.length} × ${model}, ${memory} GiB, ${platform()}, Node ${process.versions.node}, load of the last 15 minutes ${load}`
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
