// Names of the variants of a set.
import { createHash } from 'node:crypto'
import type { Downstream } from './spec.ts'
import { downstreamKey } from './spec.ts'

/** Maximum length of a name: it may become a label value. */
const maxLength = 63
/** Characters of a name that are kept before a suffix. */
const keptLength = 54
const suffixLength = 8

/**
 * Returns the names of new variants by {@link downstreamKey}. Names are `<set>-<repo>-<package>`, shortened as in
 * Porch. When two downstreams would get one name, or a name is taken, the name gets a suffix of its downstream.
 */
export function variantNames(
  set: string,
  downstreams: readonly Downstream[],
  taken: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, string> {
  const uses = new Map<string, number>()
  for (const downstream of downstreams) {
    const name = variantName(set, downstream)
    uses.set(name, (uses.get(name) ?? 0) + 1)
  }
  return new Map(
    downstreams.map((downstream) => {
      const name = variantName(set, downstream)
      const isUnique = uses.get(name) === 1 && !taken.has(name)
      return [downstreamKey(downstream), isUnique ? name : suffixedName(set, downstream)]
    }),
  )
}

/** Returns the name of a variant that clashes with no other. */
export function variantName(set: string, downstream: Downstream): string {
  const identifier = `${set}-${downstream.repo}-${downstream.package}`
  const name = asName(identifier)
  return name.length <= maxLength ? name : shortened(name, digest('sha1', identifier))
}

/** Returns the name of a variant whose plain name is the name of another. */
export function suffixedName(set: string, downstream: Downstream): string {
  const name = asName(`${set}-${downstream.repo}-${downstream.package}`)
  return shortened(name, digest('sha256', downstreamKey(downstream)))
}

/** Paths of packages and names of sets may contain characters that would end a label of the name. */
function asName(identifier: string): string {
  return identifier.replaceAll(/[/.]/g, '-')
}

function shortened(name: string, hash: string): string {
  return `${name.slice(0, keptLength)}-${hash}`
}

function digest(algorithm: 'sha1' | 'sha256', value: string): string {
  return createHash(algorithm).update(value).digest('hex').slice(0, suffixLength)
}
