// Kubernetes' order of versions in discovery: stable before beta before alpha, newer before older, other names last in
// alphabetical order.

const pattern = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/
const maturity = { alpha: 0, beta: 1, stable: 2 } as const

/** Sorts first what clients should prefer: `v2, v1, v1beta2, v1alpha1, foo1`. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [pattern.exec(a), pattern.exec(b)]
  if (left === null || right === null) {
    if (left !== null) return -1
    if (right !== null) return 1
    return a < b ? -1 : a > b ? 1 : 0
  }
  return rank(right) - rank(left) || Number(right[1]) - Number(left[1]) || Number(right[3] ?? 0) - Number(left[3] ?? 0)
}

function rank(match: RegExpExecArray): number {
  return maturity[(match[2] as 'alpha' | 'beta' | undefined) ?? 'stable']
}
