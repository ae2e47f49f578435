// Benchmarks of packages (specs/packages.md §4).
import type { Figure } from '../figure.ts'

const scenarios: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  index: async () => await (await import('./repository-index.ts')).repositoryIndex(),
  lifecycle: async () => await (await import('./lifecycle.ts')).lifecycle(),
  merge: async () => (await import('./merge.ts')).merge(),
  render: async () => await (await import('./render.ts')).render(),
}

/** Scenarios with exact counts. */
export const counted: readonly string[] = ['index', 'lifecycle']

/** Measures the named scenarios, or all: index, lifecycle, merge, render. */
export async function run(names: readonly string[] = []): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const [name, measure] of Object.entries(scenarios))
    if (names.length === 0 || names.includes(name)) figures.push(...(await measure()))
  return figures
}
