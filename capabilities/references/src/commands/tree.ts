// `fairlead refs tree`: the graph of references among objects, with the state of each.
import type { CommandContext } from '@fairlead/controller/command'
import type { KubeObject } from '@fairlead/kube'
import { exitCode } from '@fairlead/offline'
import { byId, formatId, idKey } from '../engine/object-id.ts'
import type { ObjectId } from '../engine/object-id.ts'
import { readReferences } from '../offline/rule-manifests.ts'

interface Reference {
  readonly from: ObjectId
  readonly to: ObjectId
  /** The ReferenceRule that declares the reference. */
  readonly rule?: string
  /** The field below the spec that takes the value, where the kind declares the reference. */
  readonly field?: string
  readonly state: string
}

/**
 * Prints each referring object with what it refers to, as text, Mermaid, DOT or JSON. `definitions` are those of kinds
 * with references of their own that the files need not define.
 */
export async function run(
  context: CommandContext<{ readonly filename: readonly string[]; readonly output: string }, object>,
  definitions: readonly KubeObject[],
): Promise<number> {
  const cluster = await readReferences(context.options.filename, context, definitions)
  const ofKinds = cluster
    .dependents()
    .flatMap(({ id, references }) =>
      references.map(({ referent, path, state }): Reference => ({ from: id, to: referent, field: path, state })),
    )
  const ofRules = cluster.rules.flatMap((rule) =>
    cluster.targets(rule).flatMap(({ id, references: edges, plan }) =>
      edges.map(({ to }): Reference => ({
        from: id,
        to,
        rule: rule.metadata.name ?? '',
        state: plan.do === 'withdraw' ? 'NoReference' : (plan.state?.reason ?? 'NoReference'),
      })),
    ),
  )
  context.out(
    formats[context.options.output as keyof typeof formats](
      [...ofKinds, ...ofRules].toSorted((a, b) => byId(a.from, b.from)),
    ),
  )
  return exitCode.ok
}

/** Output formats of the graph. */
const formats = {
  text: (references: readonly Reference[]): string => {
    const below = Map.groupBy(references, ({ from }) => idKey(from))
    const isReferent = new Set(references.map(({ to }) => idKey(to)))
    const roots = [...below.keys()].filter((key) => !isReferent.has(key))
    const shown = new Set<string>()
    const lines: string[] = []
    const show = (key: string, indent: string): void => {
      shown.add(key)
      for (const { to, rule, field, state } of below.get(key) ?? []) {
        const target = idKey(to)
        const again = shown.has(target) && below.has(target)
        lines.push(`${indent}-> ${formatId(to)}  ${state} (${rule ?? field})${again ? ' ...' : ''}`)
        if (!again) show(target, `${indent}   `)
      }
    }
    for (const key of [...roots, ...below.keys()]) {
      const [first] = below.get(key) ?? []
      if (first === undefined || shown.has(key)) continue
      lines.push(formatId(first.from))
      show(key, '  ')
    }
    return lines.length === 0 ? 'No object refers to another' : lines.join('\n')
  },
  mermaid: (references: readonly Reference[]): string =>
    [
      'graph LR',
      ...edges(
        references,
        (from, to, state) => `  ${from} -->|${state}| ${to}`,
        (id, label) => `  ${id}["${label}"]`,
      ),
    ].join('\n'),
  dot: (references: readonly Reference[]): string =>
    [
      'digraph references {',
      ...edges(
        references,
        (from, to, state) => `  ${from} -> ${to} [label="${state}"]`,
        (id, label) => `  ${id} [label="${label}"]`,
      ),
      '}',
    ].join('\n'),
  json: (references: readonly Reference[]): string => JSON.stringify({ references }, undefined, 2),
}

function edges(
  references: readonly Reference[],
  edge: (from: string, to: string, state: string) => string,
  node: (id: string, label: string) => string,
): readonly string[] {
  const ids = new Map<string, string>()
  const lines: string[] = []
  const idOf = (object: ObjectId): string => {
    const key = idKey(object)
    const known = ids.get(key)
    if (known !== undefined) return known
    const id = `n${ids.size}`
    ids.set(key, id)
    lines.push(node(id, formatId(object)))
    return id
  }
  const drawn = references.map(({ from, to, state }) => edge(idOf(from), idOf(to), state))
  return [...lines, ...drawn]
}
