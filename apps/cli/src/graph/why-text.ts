// Causes in lines for a terminal: the object, and the way to each first cause with the next step.
import { isFine } from '@fairlead/controller'
import type { Cause, Causes, GraphNode, RelationProblem, RelationType } from '@fairlead/controller'
import { pluralOf, terminalText } from '@fairlead/offline'
import { inColour, objectName, reasonText, stateStyles } from './state-text.ts'
import type { WarningEvent } from './warning-events.ts'

/** Causes that differ in their names only and are shown; more are counted. */
const shownEqual = 3
/** Characters of the reason of an object on the way to a cause. */
const reasonWidth = 100

/** An object on the way to causes. */
interface Branch {
  readonly node: GraphNode
  readonly by: RelationType | undefined
  readonly problem: RelationProblem | undefined
  /** Set for a cause. */
  cause: Cause | undefined
  readonly below: Branch[]
}

/** Returns the lines. `events` are by the keys of objects; with `isFull` every cause is shown. */
export function whyLines(
  { root, causes }: Causes,
  events: ReadonlyMap<string, readonly WarningEvent[]>,
  isFull: boolean,
): readonly string[] {
  const tree = treeOf(root, causes)
  const below = branchLines(tree.below, root.reference.namespace, '', events, isFull)
  return [...rootLines(root, tree.cause, events), ...(below.length === 0 ? [] : ['', heading(root, causes), ...below])]
}

function rootLines(
  root: GraphNode,
  cause: Cause | undefined,
  events: ReadonlyMap<string, readonly WarningEvent[]>,
): readonly string[] {
  const { namespace } = root.reference
  const place = namespace === undefined ? '' : ` in ${namespace}`
  const { mark } = stateStyles[root.state]
  const title = `${inColour(root.state, mark)} ${objectName(root.reference, namespace)}${place} ${claims[root.state]}`
  const reason = reasonText({ ...root, ...(isFine(root) ? { reason: '' } : {}) })
  // The newest event is enough where a cause is shown below.
  const details = cause === undefined ? eventLines(root, events).slice(0, 1) : causeLines(root, cause, events)
  return [reason === '' ? title : `${title}: ${reason}`, ...details.map((line) => `  ${line}`)]
}

/** The sentence on an object, by its state. */
const claims: Readonly<Record<GraphNode['state'], string>> = {
  Ready: 'is ready',
  NotReady: 'is not ready',
  Waiting: 'is not ready yet',
  Terminating: 'is being deleted',
  Exists: 'exists; nothing of its kind says whether it is ready',
  Missing: 'does not exist',
  Unknown: 'cannot be read',
}

function heading(root: GraphNode, causes: readonly Cause[]): string {
  const isUnknown = causes.every(({ steps }) => steps.at(-1)!.node.state === 'Unknown')
  if (isFine(root) && isUnknown) return 'It depends on this, which cannot be read:'
  if (root.state === 'Ready') return 'It is ready all the same, though this is not:'
  return root.state === 'Exists' ? 'What it depends on is not ready:' : 'It waits for:'
}

function branchLines(
  branches: readonly Branch[],
  namespace: string | undefined,
  indent: string,
  events: ReadonlyMap<string, readonly WarningEvent[]>,
  isFull: boolean,
): readonly string[] {
  const shown = isFull ? branches.map((branch) => ({ branch, more: 0 })) : withoutEqual(branches)
  return shown.flatMap(({ branch, more }, index) => {
    const isLast = index === shown.length - 1
    const inner = `${indent}${isLast ? '   ' : '│  '}`
    const { node, by, problem, cause, below } = branch
    const { mark, word } = stateStyles[node.state]
    const name = `${inColour(node.state, mark)} ${objectName(node.reference, namespace)}  ${inColour(node.state, word)}`
    const reason = cause === undefined && !isFine(node) ? reasonText(node, reasonWidth) : ''
    const line = `${indent}${isLast ? '└─' : '├─'} ${by === undefined ? '' : `${words[by]} `}${name}${reason === '' ? '' : `, ${reason}`}`
    const waits = problem === undefined || isSaid(problem, node) ? [] : [reasonText(problem)]
    const ofCause = cause === undefined ? [] : causeLines(node, cause, events, true)
    const details = [...waits, ...ofCause].map((one) => `${inner}  ${one}`)
    const rest =
      more === 0 ? [] : [`${inner}  and ${more} more ${pluralOf(node.reference.kind)} like this (--all shows each)`]
    return [line, ...details, ...rest, ...branchLines(below, namespace, inner, events, isFull)]
  })
}

/** Returns whether the object says the same as the problem of the relation to it. */
function isSaid(problem: RelationProblem, node: GraphNode): boolean {
  return problem.message === node.message && !isFine(node)
}

/** Returns the lines of a cause: its reason, its cycle, its events and the next step. */
function causeLines(
  node: GraphNode,
  cause: Cause | undefined,
  events: ReadonlyMap<string, readonly WarningEvent[]>,
  withReason: boolean = false,
): readonly string[] {
  const reason = withReason && !isFine(node) ? reasonText(node) : ''
  const cycle = (cause?.cycle ?? []).map(({ reference }) => objectName(reference, node.reference.namespace))
  return [
    ...(reason === '' || node.state === 'Missing' ? [] : [reason]),
    ...(cycle.length === 0 ? [] : [`it waits for ${cycle.join(', which waits for ')}: a cycle`]),
    ...eventLines(node, events),
    ...(node.next === undefined ? [] : [`next: ${terminalText(node.next)}`]),
  ]
}

function eventLines(node: GraphNode, events: ReadonlyMap<string, readonly WarningEvent[]>): readonly string[] {
  return (events.get(node.key) ?? []).map(({ reason, message, count, age }) => {
    const times = count > 1 ? `${count} times, last ` : ''
    return `event ${reasonText({ reason, message })} (${times}${age} ago)`
  })
}

/** Words between the object above and the one of a line. */
const words: Readonly<Record<RelationType, string>> = {
  'made-from': 'makes',
  'refers-to': 'refers to',
  'upstream-of': 'follows',
  'input-of': 'read by',
}

/** Returns the tree of all ways to causes. */
function treeOf(root: GraphNode, causes: readonly Cause[]): Branch {
  const top: Branch = { node: root, by: undefined, problem: undefined, cause: undefined, below: [] }
  for (const cause of causes) {
    let at = top
    for (const { node, by, problem } of cause.steps.slice(1)) {
      const known = at.below.find((one) => one.node.key === node.key)
      const next: Branch = known ?? { node, by, problem, cause: undefined, below: [] }
      if (known === undefined) at.below.push(next)
      at = next
    }
    at.cause = cause
  }
  return top
}

/** Returns the first of many causes that differ in names only, each last one with the number of those left out. */
function withoutEqual(branches: readonly Branch[]): readonly { readonly branch: Branch; readonly more: number }[] {
  const groups = Map.groupBy(branches, ({ node, by, below }, index) =>
    below.length > 0
      ? `${index}`
      : [by, node.reference.apiVersion, node.reference.kind, node.state, node.reason].join(' '),
  )
  return [...groups.values()].flatMap((group) =>
    group.slice(0, shownEqual).map((branch, index) => ({
      branch,
      more: index === shownEqual - 1 ? group.length - shownEqual : 0,
    })),
  )
}
