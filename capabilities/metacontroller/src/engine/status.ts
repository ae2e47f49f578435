// The aggregated status of a parent (R18, R19, Q15): numbers of inputs, of outputs, and of outputs with each condition
// True. Counts are updated by single changes, so a parent with 50,000 outputs costs no more per change than one with
// ten.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { ResolvedResource } from './resource.ts'
import { groupResource } from './resource.ts'

/** Counts of one output kind. */
class OutputCount {
  total = 0
  readonly #seen = new Map<string, number>()
  readonly #isTrue = new Map<string, number>()

  count(object: KubeObject, by: 1 | -1): void {
    this.total += by
    for (const [type, isTrue] of conditionsOf(object)) {
      bump(this.#seen, type, by)
      bump(this.#isTrue, type, isTrue ? by : 0)
    }
  }

  toJson(): JsonObject {
    const conditions: [string, number][] = []
    for (const [type, seen] of this.#seen) if (seen > 0) conditions.push([statusKey(type), this.#isTrue.get(type) ?? 0])
    conditions.sort(([a], [b]) => (a < b ? -1 : 1))
    return { total: this.total, ...Object.fromEntries(conditions) }
  }
}

/** The counts of one parent's outputs. */
export class OutputCounts {
  readonly #counts: readonly OutputCount[]

  /** `kinds` is the number of output kinds; {@link OutputCounts.count} takes their positions. */
  constructor(kinds: number) {
    this.#counts = Array.from({ length: kinds }, () => new OutputCount())
  }

  /** Counts an output that was added (1) or removed (-1). */
  count(kind: number, object: KubeObject, by: 1 | -1): void {
    this.#counts[kind]?.count(object, by)
  }

  /** Nothing is counted. */
  get isEmpty(): boolean {
    return this.#counts.every(({ total }) => total === 0)
  }

  /** Totals and conditions by kind. */
  toJson(): readonly JsonObject[] {
    return this.#counts.map((count) => count.toJson())
  }
}

/** The content of a parent's status. */
export interface StatusFacts {
  readonly generation: number | undefined
  readonly inputKinds: readonly ResolvedResource[]
  /** Number of inputs of each kind that are mapped; undefined while it is not known. */
  readonly inputTotals: readonly (number | undefined)[]
  readonly outputKinds: readonly ResolvedResource[]
  readonly outputs: OutputCounts
  /** The current status: counts that are not known stay as they are. */
  readonly before?: unknown
}

/** Returns our status fields of a parent. */
export function parentStatus({
  generation,
  inputKinds,
  inputTotals,
  outputKinds,
  outputs,
  before,
}: StatusFacts): JsonObject {
  const counts = outputs.toJson()
  const inputs = statusNames(inputKinds).flatMap((name, index) => {
    const total = inputTotals[index] ?? totalBefore(before, name)
    return total === undefined ? [] : [[name, { total }] as const]
  })
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    inputs: Object.fromEntries(inputs),
    outputs: Object.fromEntries(statusNames(outputKinds).map((name, index) => [name, counts[index] ?? { total: 0 }])),
  }
}

function totalBefore(status: unknown, name: string): number | undefined {
  const total = (
    status as { readonly inputs?: Record<string, { readonly total?: unknown } | undefined> } | null | undefined
  )?.inputs?.[name]?.total
  return typeof total === 'number' ? total : undefined
}

/** Returns the plural of each kind, with the group where two kinds share a plural. */
function statusNames(kinds: readonly ResolvedResource[]): string[] {
  return kinds.map((kind) =>
    kinds.some((other) => other !== kind && other.plural === kind.plural) ? groupResource(kind) : kind.plural,
  )
}

/** Returns the key of a condition type: its first letter in lower case; `conditionTotal` for a type Total. */
function statusKey(type: string): string {
  const key = type.charAt(0).toLowerCase() + type.slice(1)
  return key === 'total' ? 'conditionTotal' : key
}

/** Returns the condition types of an object and whether they are True; a type that occurs twice counts once. */
function conditionsOf(object: KubeObject): Map<string, boolean> {
  const found = new Map<string, boolean>()
  const status = object.status as { readonly conditions?: unknown } | null | undefined
  const conditions = status?.conditions
  if (!Array.isArray(conditions)) return found
  for (const entry of conditions as readonly unknown[]) {
    if (typeof entry !== 'object' || entry === null) continue
    const { type, status: value } = entry as { type?: unknown; status?: unknown }
    if (typeof type === 'string' && type !== '') found.set(type, found.get(type) === true || value === 'True')
  }
  return found
}

function bump(counts: Map<string, number>, type: string, by: number): void {
  counts.set(type, (counts.get(type) ?? 0) + by)
}
