// Ranges of versions (`spec.upstream.follow.range`) in the syntax of npm, as in Flux and Helm: `1.x`, `^1.2`,
// `>=1.2 <3`.
import compare from 'semver/functions/compare.js'
import parse from 'semver/functions/parse.js'
import satisfies from 'semver/functions/satisfies.js'
import validRange from 'semver/ranges/valid.js'

/** Longest version that is compared, in characters: that of a label value. */
const maxVersionLength = 63

/** Returns why a range can never be evaluated; undefined when it is valid. */
export function rangeError(range: string): string | undefined {
  return validRange(range) === null
    ? `spec.upstream.follow.range ${JSON.stringify(range)} is no range of versions such as 1.x, ^1.2 or ">=1.2 <3"`
    : undefined
}

/**
 * Returns the normal form of a version as authors write it: `1.2.3`, `v1.2.3`, `1.2` and `1`, which are 1.2.0 and
 * 1.0.0; undefined for anything else.
 */
export function parseVersion(version: string): string | undefined {
  if (version.length > maxVersionLength) return undefined
  const [, major, minor = '.0'] = /^v?(\d+)(\.\d+)?$/.exec(version) ?? []
  return parse(major === undefined ? version : `${major}${minor}.0`)?.version
}

/** Reports whether a version is in a range; one with a prerelease (`1.2.0-rc.1`) only where the range names one. */
export function isInRange(version: string, range: string): boolean {
  return satisfies(version, range)
}

/** Compares versions in normal form by precedence. */
export function compareVersions(a: string, b: string): number {
  return compare(a, b)
}
