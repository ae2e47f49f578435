// The downstreams that sets want, by the inputs of their expressions: an event of a variant evaluates none again.
import { createHash } from 'node:crypto'
import type { CandidateSources } from '../engine/set/candidates.ts'
import { wantedDownstreams } from '../engine/set/downstreams.ts'
import type { SetUpstream, WantedDownstreams } from '../engine/set/downstreams.ts'
import type { SetSpec } from '../engine/set/spec.ts'

/** The last result of each set. */
export class WantedCache {
  readonly #bySet = new Map<string, { readonly inputs: string; readonly wanted: WantedDownstreams }>()

  /** Returns the downstreams that a set wants; the last result when the inputs are the same. `set` is its key. */
  get(set: string, spec: SetSpec, upstream: SetUpstream, sources: CandidateSources): WantedDownstreams {
    const inputs = hashOf(spec, upstream, sources)
    const known = this.#bySet.get(set)
    if (known?.inputs === inputs) return known.wanted
    const wanted = wantedDownstreams(spec, upstream, sources)
    this.#bySet.set(set, { inputs, wanted })
    return wanted
  }

  /** Drops the result of a deleted set. */
  delete(set: string): void {
    this.#bySet.delete(set)
  }
}

function hashOf(spec: SetSpec, upstream: SetUpstream, sources: CandidateSources): string {
  const selected = spec.targets.map(({ objectSelector }) => objectSelector && sources.objects(objectSelector))
  const hash = createHash('sha256')
  for (const input of [spec, upstream, sources.repositories, selected])
    hash.update(JSON.stringify(input, bigints)).update('\n')
  return hash.digest('base64')
}

function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}
