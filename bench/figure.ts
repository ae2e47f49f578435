// The results of a benchmark: figures with the limit that the specification sets, and with those of a peer.

/** One figure of a run. */
export interface Figure {
  readonly figure: string
  readonly asked: string
  readonly reached: string
  /** True when the figure is within its limit; undefined for figures without one. */
  readonly holds: boolean | undefined
  /** A count that is the same on every machine: `npm run bench:check` fails when it does not hold. */
  readonly exact?: boolean
  /** The figure of the peer under the same load. */
  readonly peer?: string
}

/** The export `run` of a folder of `bench/`: measures the named scenarios, or all. */
export type Benchmark = (scenarios?: readonly string[]) => Promise<readonly Figure[]>

export const verdict = ({ holds }: Figure): string => (holds === undefined ? '' : holds ? 'reached' : 'MISSED')

/** The figures as a table of text. */
export function textTable(figures: readonly Figure[]): string {
  const width = (of: (figure: Figure) => string): number => Math.max(...figures.map((figure) => of(figure).length))
  const [name, asked, reached] = [width((row) => row.figure), width((row) => row.asked), width((row) => row.reached)]
  return figures
    .map((row) => {
      const peer = row.peer === undefined ? '' : `  peer ${row.peer}`
      const line = `${row.figure.padEnd(name)}  asked ${row.asked.padEnd(asked)}  got ${row.reached.padEnd(reached)}`
      return `${verdict(row).padEnd(7)}  ${line}${peer}`.trimEnd()
    })
    .join('\n')
}
