// The graph of kinds as Mermaid, DOT and JSON.
import { stringifyJson } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { GeneratedFile } from './files.ts'
import type { Generated } from './generate.ts'
import { referentsOf } from './references.ts'

interface Node {
  readonly group: string
  readonly kind: string
}

/** Returns the files of the graph: kinds, and an edge for each kind that a field may refer to. */
export function graphFiles({ group, kinds }: Generated): readonly GeneratedFile[] {
  const edges = kinds.flatMap(({ kind, references }) =>
    references.flatMap((row) =>
      referentsOf(row).map((to) => ({ from: { group, kind }, to: { group: to.group, kind: to.kind }, row })),
    ),
  )
  const nodes = new Map<string, Node>()
  for (const one of [...kinds.map(({ kind }) => ({ group, kind })), ...edges.map(({ to }) => to)])
    nodes.set(`${one.group}/${one.kind}`, one)
  const names = new Map([...nodes.keys()].map((key, index) => [key, `n${index}`]))
  const nameOf = (one: Node): string => names.get(`${one.group}/${one.kind}`) as string
  const label = (one: Node): string => (one.group === group ? one.kind : `${one.kind}.${one.group}`)
  const mermaid = [
    'graph LR',
    ...[...nodes.values()].map((one) => `  ${nameOf(one)}["${label(one)}"]`),
    ...edges.map(({ from, to, row }) => `  ${nameOf(from)} -->|"${row.fieldPath}"| ${nameOf(to)}`),
  ]
  const dot = [
    'digraph references {',
    ...[...nodes.values()].map((one) => `  ${nameOf(one)} [label="${label(one)}"]`),
    ...edges.map(({ from, to, row }) => `  ${nameOf(from)} -> ${nameOf(to)} [label="${row.fieldPath}"]`),
    '}',
  ]
  const json = {
    kinds: [...nodes.values()],
    edges: edges.map(({ from, to, row }) => ({
      from,
      to,
      field: row.fieldPath,
      reference: row.refPath,
      waitFor: row.waitFor,
    })),
  }
  return [
    { path: 'graph.mmd', text: `${mermaid.join('\n')}\n` },
    { path: 'graph.dot', text: `${dot.join('\n')}\n` },
    { path: 'graph.json', text: `${stringifyJson(json as unknown as JsonValue)}\n` },
  ]
}
