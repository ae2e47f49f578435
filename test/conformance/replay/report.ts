// The output of a run: each disagreement as a diff, the share per area, the closing line.
import { stringifyJson } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { Outcome } from './play.ts'

const shownDifferences = 12
const shownCharacters = 600

function show(value: JsonValue | undefined): string {
  if (value === undefined) return '(absent)'
  const text = typeof value === 'string' ? JSON.stringify(value) : stringifyJson(value)
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}… (${text.length} characters)` : text
}

/** The disagreements of one scenario, as lines. */
export function describe(outcome: Outcome): string[] {
  return outcome.disagreements.flatMap(({ step, request, differences }) => [
    `  step ${step}: ${request}`,
    ...differences
      .slice(0, shownDifferences)
      .flatMap(({ path, expected, actual, why }) => [
        `    ${path}${why ? `  (${why})` : ''}`,
        ...(expected === undefined && actual === undefined
          ? []
          : [`      - ${show(expected)}`, `      + ${show(actual)}`]),
      ]),
    ...(differences.length > shownDifferences ? [`    … and ${differences.length - shownDifferences} more`] : []),
  ])
}

/** A table of agreeing scenarios per area. */
export function areas(outcomes: readonly Outcome[]): string[] {
  const byArea = Map.groupBy(outcomes, (outcome) => outcome.name.split('/')[0] as string)
  return [...byArea]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([area, list]) => {
      const played = list.filter((outcome) => outcome.result !== 'skipped')
      const agree = played.filter((outcome) => outcome.result === 'agrees').length
      const strict = played.filter((outcome) => outcome.strict).length
      const skipped = list.length - played.length
      const share = played.length === 0 ? '  - ' : `${String(Math.round((100 * agree) / played.length)).padStart(3)}%`
      return `${area.padEnd(12)} ${String(agree).padStart(3)} of ${String(played.length).padStart(3)}  ${share}  strict ${strict}${skipped > 0 ? `  skipped ${skipped}` : ''}`
    })
}
