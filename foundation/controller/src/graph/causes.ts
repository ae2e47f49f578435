// The first causes of an object that is not ready: it is followed along what it waits for. Start with findCauses.
import type { KubeObject } from '@fairlead/kube'
import { isFine } from './object-state.ts'
import type { GraphNode, ObjectLookup } from './relation-graph.ts'
import { dependencyOf } from './relation.ts'
import type { RelationProblem, RelationType } from './relation.ts'

/** One object on the way to a cause, and how the one before it leads to it. */
export interface CauseStep {
  readonly node: GraphNode
  /** The relation to the step before; undefined for the first. */
  readonly by?: RelationType
  /** The reason why that relation does not hold, as its controller reports it. */
  readonly problem?: RelationProblem
}

/** A first cause: the last step waits for nothing else that is known. */
export interface Cause {
  /** From the first object to the cause, along the shortest way. */
  readonly steps: readonly CauseStep[]
  /** Set when the last step waits for itself: the objects on the way back to it, which is the last of them. */
  readonly cycle?: readonly GraphNode[]
}

/** The causes for which an object waits. */
export interface Causes {
  readonly root: GraphNode
  /** None when nothing is waited for. Those that cannot be read come last. */
  readonly causes: readonly Cause[]
}

interface Visited {
  readonly step: CauseStep
  readonly before: string | undefined
  /** Keys of what it waits for that is not fine. */
  readonly waitsFor: string[]
  /** It explains itself, whatever else it waits for. */
  readonly isCause: boolean
}

/**
 * Follows an object along what it waits for, and what that waits for, to the objects that wait for nothing else. A
 * ready object ends the way, the first one excepted. At most `maxObjects` are looked at.
 */
export async function findCauses(object: KubeObject, lookup: ObjectLookup, maxObjects = 2000): Promise<Causes> {
  const root = lookup.nodeOf(object)
  const visited = new Map<string, Visited>([
    [root.key, { step: { node: root }, before: undefined, waitsFor: [], isCause: root.next !== undefined }],
  ])
  let level: readonly KubeObject[] = [object]
  while (level.length > 0 && visited.size < maxObjects) {
    const found = await Promise.all(level.map(async (one) => ({ one, next: await dependencies(one, lookup) })))
    const next: KubeObject[] = []
    for (const { one, next: all } of found) {
      const key = lookup.nodeOf(one).key
      for (const { node, by, problem, object: other } of all) {
        if (node.key === key || (problem === undefined && isFine(node))) continue
        visited.get(key)!.waitsFor.push(node.key)
        if (visited.has(node.key)) continue
        const step = { node, by, ...(problem === undefined ? {} : { problem }) }
        visited.set(node.key, { step, before: key, waitsFor: [], isCause: node.next !== undefined })
        if (other !== undefined) next.push(other)
      }
    }
    level = next
  }
  return { root, causes: causesOf(root, visited) }
}

interface Dependency {
  readonly node: GraphNode
  readonly by: RelationType
  readonly problem?: RelationProblem
  readonly object?: KubeObject
}

/** Returns the objects that an object depends on, but along relations that hold. */
async function dependencies(object: KubeObject, lookup: ObjectLookup): Promise<readonly Dependency[]> {
  const { key } = lookup.nodeOf(object)
  const relations = await lookup.relations(object)
  return Promise.all(
    relations.flatMap((relation) => {
      const { type, holds } = relation
      const end = holds === true ? undefined : dependencyOf(relation, key)
      const problem = holds === undefined || holds === true ? {} : { problem: holds }
      return end === undefined ? [] : [lookup.node(end).then((found) => ({ ...found, by: type, ...problem }))]
    }),
  )
}

function causesOf(root: GraphNode, visited: ReadonlyMap<string, Visited>): readonly Cause[] {
  const found: Cause[] = []
  const explained = new Set<string>()
  const waitingFor = new Map<string, string[]>()
  for (const [key, { waitsFor }] of visited)
    for (const one of waitsFor) waitingFor.set(one, [...(waitingFor.get(one) ?? []), key])
  const explain = (key: string): void => {
    // Everything that leads to a cause is explained by it.
    const waiting = [key]
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      if (explained.has(one)) continue
      explained.add(one)
      waiting.push(...(waitingFor.get(one) ?? []))
    }
  }
  if (isFine(root) && visited.size === 1) return []
  const isUnknown = (key: string): boolean => visited.get(key)!.step.node.state === 'Unknown'
  const isEnd = (key: string, waitsFor: readonly string[]): boolean =>
    waitsFor.length === 0 || (waitsFor.every(isUnknown) && !isFine(visited.get(key)!.step.node))
  for (const [key, { waitsFor, isCause }] of visited)
    if (isCause || isEnd(key, waitsFor)) {
      found.push({ steps: stepsTo(key, visited) })
      explain(key)
    }
  for (const key of visited.keys()) {
    const cycle = explained.has(key) ? [] : wayBack(key, visited)
    if (cycle.length === 0) continue
    found.push({ steps: stepsTo(key, visited), cycle: cycle.map((one) => visited.get(one)!.step.node) })
    explain(key)
  }
  const last = ({ steps }: Cause): boolean => steps.at(-1)!.node.state === 'Unknown'
  return found.toSorted((a, b) => Number(last(a)) - Number(last(b)))
}

function stepsTo(key: string, visited: ReadonlyMap<string, Visited>): readonly CauseStep[] {
  const steps: CauseStep[] = []
  for (let at: string | undefined = key; at !== undefined; at = visited.get(at)!.before)
    steps.unshift(visited.get(at)!.step)
  return steps
}

/** Returns the keys of a shortest way from an object to itself; none when it does not wait for itself. */
function wayBack(key: string, visited: ReadonlyMap<string, Visited>): readonly string[] {
  const before = new Map<string, string>()
  const waiting = [key]
  for (const one of waiting)
    for (const next of visited.get(one)!.waitsFor) {
      if (before.has(next)) continue
      before.set(next, one)
      waiting.push(next)
    }
  if (!before.has(key)) return []
  const way = [key]
  for (let at = before.get(key)!; at !== key; at = before.get(at)!) way.unshift(at)
  return way
}
