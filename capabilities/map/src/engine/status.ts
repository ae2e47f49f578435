// The aggregated status of a parent (R18, R19, Q15): how many inputs, how many outputs, how many of them with each condition True.
// Counts move with single changes, so a parent with 50,000 outputs costs no more per change than one with ten.
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

/** The counts of one parent. */
export class Tally {
  readonly #inputNames: readonly string[]
  readonly #outputNames: readonly string[]
  readonly #inputs: number[]
  readonly #outputs: OutputCount[]

  /** Kinds in the order of the spec; their positions are what the other methods take. */
  constructor(inputs: readonly ResolvedResource[], outputs: readonly ResolvedResource[]) {
    this.#inputNames = statusNames(inputs)
    this.#outputNames = statusNames(outputs)
    this.#inputs = inputs.map(() => 0)
    this.#outputs = outputs.map(() => new OutputCount())
  }

  countInput(kind: number, by: 1 | -1): void {
    this.#inputs[kind] = (this.#inputs[kind] ?? 0) + by
  }

  countOutput(kind: number, object: KubeObject, by: 1 | -1): void {
    this.#outputs[kind]?.count(object, by)
  }

  /** The status fields that are ours. */
  toStatus(generation: number | undefined): JsonObject {
    return {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      inputs: Object.fromEntries(this.#inputNames.map((name, index) => [name, { total: this.#inputs[index] ?? 0 }])),
      outputs: Object.fromEntries(
        this.#outputNames.map((name, index) => [name, this.#outputs[index]?.toJson() ?? { total: 0 }]),
      ),
    }
  }
}

/** The plural of each kind, with the group where two kinds share a plural. */
function statusNames(kinds: readonly ResolvedResource[]): string[] {
  return kinds.map((kind) =>
    kinds.some((other) => other !== kind && other.plural === kind.plural) ? groupResource(kind) : kind.plural,
  )
}

/** The key of a condition type: its first letter lowered; one that would be `total` is qualified. */
function statusKey(type: string): string {
  const key = type.charAt(0).toLowerCase() + type.slice(1)
  return key === 'total' ? 'conditionTotal' : key
}

/** Type and truth of the conditions of an object; a type that stands twice counts once. */
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
