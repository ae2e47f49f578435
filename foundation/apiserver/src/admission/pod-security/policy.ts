// The policy of a namespace: the levels and versions that its labels set (k8s.io/pod-security-admission/api, v1.35).
import { fieldErrors, fieldPath } from '@fairlead/kube'
import type { FieldError, KubeObject } from '@fairlead/kube'
import { baselineChecks } from './baseline-checks.ts'
import type { CheckedPod } from './pod.ts'
import { restrictedChecks } from './restricted-checks.ts'
import type { Violation } from './violation.ts'

const levels = ['privileged', 'baseline', 'restricted'] as const

/** The newest version with checks of its own. */
const newest = 35

/** A level in the version of a policy: `latest`, or `v1.x`. */
export interface LevelVersion {
  readonly level: (typeof levels)[number]
  readonly version: string
}

/** The policy of a namespace. There are no audit logs, so its audit level is only validated. */
export interface Policy {
  readonly enforce: LevelVersion
  readonly warn: LevelVersion
  readonly errors: readonly FieldError[]
}

const prefix = 'pod-security.kubernetes.io/'

/**
 * Returns the policy of a namespace. Invalid labels enforce `restricted` in the latest version, and do not warn;
 * without a label the level that is enforced warns too.
 */
export function policyOf({ metadata: { labels = {} } }: KubeObject): Policy {
  const errors: FieldError[] = []
  const read = (mode: string, fallback: LevelVersion['level']): LevelVersion => {
    const invalid = (label: string, value: string, message: string): number =>
      errors.push(fieldErrors.invalid(fieldPath('metadata.labels', { key: label }), value, message))
    const level = labels[`${prefix}${mode}`]
    const known = levels.find((name) => name === level)
    if (level !== undefined && known === undefined)
      invalid(`${prefix}${mode}`, level, `must be one of ${levels.join(', ')}`)
    const version = labels[`${prefix}${mode}-version`] ?? 'latest'
    const isVersion = version === 'latest' || /^v1\.(\d|[1-9]\d*)$/.test(version)
    if (!isVersion) invalid(`${prefix}${mode}-version`, version, 'must be "latest" or "v1.x"')
    return {
      level: level === undefined ? 'privileged' : (known ?? fallback),
      version: isVersion ? version : 'latest',
    }
  }
  const enforce = read('enforce', 'restricted')
  read('audit', 'privileged')
  const warn = read('warn', 'privileged')
  if (labels[`${prefix}warn`] !== undefined || enforce.level === 'privileged') return { enforce, warn, errors }
  const version = labels[`${prefix}warn-version`] === undefined ? enforce.version : warn.version
  return { enforce, warn: { level: enforce.level, version }, errors }
}

/** Returns the policy as messages quote it: `restricted:latest`. */
export function policyText({ level, version }: LevelVersion): string {
  return `${level}:${version}`
}

/** Returns true when `a` restricts more than `b`. */
export function isStricter(a: LevelVersion, b: LevelVersion): boolean {
  return levels.indexOf(a.level) > levels.indexOf(b.level)
}

/** Returns the violations of a pod, or of a template of pods. */
export function violationsOf(pod: CheckedPod, { level, version }: LevelVersion): readonly Violation[] {
  if (level === 'privileged') return []
  const minor = version === 'latest' ? newest : Math.min(Number(version.slice('v1.'.length)), newest)
  const added = level === 'restricted' ? restrictedChecks.filter(([since]) => minor >= since) : []
  const replaced = new Set(added.map(([, , id]) => id))
  const checks = [
    ...baselineChecks.filter(([id]) => !replaced.has(id)).map(([, check]) => check),
    ...added.map(([, check]) => check),
  ]
  return checks.flatMap((check) => check(pod.spec ?? {}, pod, minor) ?? [])
}
