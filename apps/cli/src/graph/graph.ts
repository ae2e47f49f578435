// `fairlead graph`: the graph around one object.
import { exploreGraph } from '@fairlead/controller'
import type { CommandContext, GraphDirection, RelationGraph, Unreadable } from '@fairlead/controller'
import { exitCode, formatStructured, usageError } from '@fairlead/offline'
import { dotText, mermaidText } from './diagram.ts'
import { graphData } from './graph-data.ts'
import { withSession } from './session.ts'
import { treeLines } from './tree.ts'
import { unreadableLines } from './unreadable-text.ts'

type Output = 'tree' | 'mermaid' | 'dot' | 'json' | 'yaml'

interface Options {
  readonly namespace: string | undefined
  readonly direction: GraphDirection
  readonly depth: string | undefined
  readonly all: boolean
  readonly output: Output
}

/** Prints the graph. What cannot be read is part of it: the exit code is 0 unless the object itself cannot be read. */
export async function run(
  context: CommandContext<Options, { readonly object: string; readonly name: string | undefined }>,
): Promise<number> {
  const { direction, output, all } = context.options
  const depth = parseDepth(context.options.depth)
  const [graph, unreadable] = await withSession(context, async ({ object, lookup, unreadable: failed }) => [
    await exploreGraph(object, lookup, { direction, depth }),
    failed(),
  ])
  context.out(formatGraph(graph, unreadable, { direction, output, all }))
  return exitCode.ok
}

function formatGraph(
  graph: RelationGraph,
  unreadable: readonly Unreadable[],
  { direction, output, all }: Pick<Options, 'direction' | 'output' | 'all'>,
): string {
  switch (output) {
    case 'tree':
      return [...treeLines(graph, direction, all), ...unreadableLines(unreadable)].join('\n')
    case 'mermaid':
      return mermaidText(graph, direction, all)
    case 'dot':
      return dotText(graph, direction, all)
    case 'json':
    case 'yaml':
      return formatStructured(graphData(graph, unreadable), output)
  }
}

/** Returns the number of steps; all when left out. */
function parseDepth(depth: string | undefined): number {
  if (depth === undefined) return Infinity
  if (!/^\d{1,6}$/.test(depth) || Number(depth) === 0)
    throw usageError(`--depth ${depth}: write a number of steps from 1`)
  return Number(depth)
}
