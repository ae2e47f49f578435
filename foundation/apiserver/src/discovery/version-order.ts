// The order of API versions: GA before beta before alpha, newer before older, anything else after them by name.

const pattern = /^v(\d+)(?:(alpha|beta)(\d+))?$/
const stages: Readonly<Record<string, number>> = { alpha: 0, beta: 1 }

/** Compares two versions so that the preferred one sorts first: `v2, v1, v1beta2, v1alpha1, foo1`. */
export function compareVersions(a: string, b: string): number {
  const left = pattern.exec(a)
  const right = pattern.exec(b)
  if (left === null || right === null) {
    if (left === null && right === null) return a < b ? -1 : a > b ? 1 : 0
    return left === null ? 1 : -1
  }
  return stageOf(right) - stageOf(left) || Number(right[1]) - Number(left[1]) || Number(right[3] ?? 0) - Number(left[3] ?? 0)
}

function stageOf(match: RegExpExecArray): number {
  return match[2] === undefined ? 2 : (stages[match[2]] ?? 0)
}
