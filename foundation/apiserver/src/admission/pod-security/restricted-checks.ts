// The checks that the level `restricted` adds (k8s.io/pod-security-admission/policy, v1.35), with their messages.
import { isRelaxed, procMount, seccompProfile } from './baseline-checks.ts'
import type { Check } from './baseline-checks.ts'
import { containersOf } from './pod.ts'
import type { Container, PodSpec } from './pod.ts'
import { distinct, named, plural, quoted, setters } from './violation.ts'

/** Returns true for pods of Windows, which have no such fields; policies since 1.25 know them. */
function isWindows({ os }: PodSpec, minor: number): boolean {
  return minor >= 25 && os?.name === 'windows'
}

const allowPrivilegeEscalation: Check = (spec, _pod, minor) => {
  if (isWindows(spec, minor)) return undefined
  const bad = containersOf(spec).filter(({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false)
  if (bad.length === 0) return undefined
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${named(bad)} must set securityContext.allowPrivilegeEscalation=false`,
  }
}

const capabilities: Check = (spec, _pod, minor) => {
  if (isWindows(spec, minor)) return undefined
  const added = ({ securityContext }: Container): readonly string[] =>
    (securityContext?.capabilities?.add ?? []).filter((capability) => capability !== 'NET_BIND_SERVICE')
  const keeping = containersOf(spec).filter(
    ({ securityContext }) => securityContext?.capabilities?.drop?.includes('ALL') !== true,
  )
  const adding = containersOf(spec).filter((container) => added(container).length > 0)
  const details = [
    ...(keeping.length > 0 ? [`${named(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0
      ? [
          `${named(adding)} must not include ${quoted(distinct(adding.flatMap(added)))} in securityContext.capabilities.add`,
        ]
      : []),
  ]
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') }
}

const allowedVolumes =
  'configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret'.split(' ')

const restrictedVolumes: Check = ({ volumes = [] }) => {
  const bad = volumes.filter((volume) => !allowedVolumes.some((type) => volume[type] !== undefined))
  if (bad.length === 0) return undefined
  const types = distinct(bad.map((volume) => Object.keys(volume).find((field) => field !== 'name') ?? 'unknown'))
  const names = quoted(bad.map(({ name }) => String(name)))
  const noun = plural('restricted volume type', 'restricted volume types', types)
  return {
    reason: 'restricted volume types',
    detail: `${plural('volume', 'volumes', bad)} ${names} ${plural('uses', 'use', bad)} ${noun} ${quoted(types)}`,
  }
}

const runAsNonRoot: Check = (spec, _pod, minor) => {
  if (isRelaxed(spec, minor)) return undefined
  const reason = 'runAsNonRoot != true'
  const who = setters(spec, (context) => context.runAsNonRoot === false)
  if (who !== '') return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` }
  if (spec.securityContext?.runAsNonRoot === true) return undefined
  const bad = containersOf(spec).filter(({ securityContext }) => securityContext?.runAsNonRoot === undefined)
  if (bad.length === 0) return undefined
  return { reason, detail: `pod or ${named(bad)} must set securityContext.runAsNonRoot=true` }
}

const runAsUser: Check = (spec, _pod, minor) => {
  if (minor < 23 || isRelaxed(spec, minor)) return undefined
  const who = setters(spec, (context) => context.runAsUser === 0)
  return who === '' ? undefined : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` }
}

const seccomp: Check = (spec, pod, minor) => {
  if (isWindows(spec, minor)) return undefined
  const violation = seccompProfile(spec, pod, minor)
  if (violation !== undefined || spec.securityContext?.seccompProfile !== undefined) return violation
  const bad = containersOf(spec).filter(({ securityContext }) => securityContext?.seccompProfile === undefined)
  if (bad.length === 0) return undefined
  return {
    reason: 'seccompProfile',
    detail: `pod or ${named(bad)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  }
}

/**
 * The checks in the order of their messages: the minor version that added them, and the check of `baseline` that they
 * replace.
 */
export const restrictedChecks: readonly (readonly [since: number, check: Check, replaces: string])[] = [
  [8, allowPrivilegeEscalation, ''],
  [22, capabilities, 'capabilities_baseline'],
  [35, procMount, 'procMount'],
  [0, restrictedVolumes, 'hostPathVolumes'],
  [0, runAsNonRoot, ''],
  [23, runAsUser, ''],
  [19, seccomp, 'seccompProfile_baseline'],
]
