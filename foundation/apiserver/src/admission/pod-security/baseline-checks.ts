// The checks of the level `baseline` (k8s.io/pod-security-admission/policy, v1.35), with their messages.
import { goQuote } from '@fairlead/kube'
import type { CheckedPod, Container, PodSpec, SecurityContext } from './pod.ts'
import { containersOf } from './pod.ts'
import { contextsOf, distinct, named, plural, quoted, setters } from './violation.ts'
import type { Violation } from './violation.ts'

/** Checks a pod against the minor version of a policy; returns undefined when it is allowed. */
export type Check = (spec: PodSpec, pod: CheckedPod, minor: number) => Violation | undefined

const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/'

const appArmorProfile: Check = (spec, { metadata }) => {
  const isForbidden = ({ appArmorProfile: profile }: SecurityContext): boolean =>
    profile !== undefined && profile.type !== 'RuntimeDefault' && profile.type !== 'Localhost'
  const forbidden = contextsOf(spec).filter(isForbidden)
  const annotations = Object.entries(metadata?.annotations ?? {})
    .filter(([key, value]) => key.startsWith(appArmorPrefix) && !/^$|^runtime\/default$|^localhost\//.test(value))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .toSorted()
  const values = [...distinct(forbidden.map((context) => context.appArmorProfile?.type ?? '')), ...annotations]
  if (values.length === 0) return undefined
  const who = [
    ...(forbidden.length > 0 ? [setters(spec, isForbidden)] : []),
    ...(annotations.length > 0 ? [plural('annotation', 'annotations', annotations)] : []),
  ]
  return {
    reason: plural('forbidden AppArmor profile', 'forbidden AppArmor profiles', values),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  }
}

const defaultCapabilities: ReadonlySet<string> = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  ),
)

const capabilities: Check = (spec) => {
  const added = ({ securityContext }: Container): readonly string[] =>
    (securityContext?.capabilities?.add ?? []).filter((capability) => !defaultCapabilities.has(capability))
  const bad = containersOf(spec).filter((container) => added(container).length > 0)
  if (bad.length === 0) return undefined
  const forbidden = distinct(bad.flatMap(added))
  return {
    reason: 'non-default capabilities',
    detail: `${named(bad)} must not include ${quoted(forbidden)} in securityContext.capabilities.add`,
  }
}

const hostNamespaces: Check = (spec) => {
  const used = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field] === true)
  return used.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: used.map((field) => `${field}=true`).join(', ') }
}

const hostPathVolumes: Check = ({ volumes = [] }) => {
  const bad = volumes.filter((volume) => volume['hostPath'] !== undefined).map(({ name }) => String(name))
  if (bad.length === 0) return undefined
  return { reason: 'hostPath volumes', detail: `${plural('volume', 'volumes', bad)} ${quoted(bad)}` }
}

const hostPorts: Check = (spec) => {
  const used = ({ ports = [] }: Container): readonly string[] =>
    ports.flatMap(({ hostPort = 0 }) => (hostPort === 0 ? [] : [String(hostPort)]))
  const bad = containersOf(spec).filter((container) => used(container).length > 0)
  if (bad.length === 0) return undefined
  const forbidden = distinct(bad.flatMap(used))
  const noun = plural('hostPort', 'hostPorts', forbidden)
  return { reason: 'hostPort', detail: `${named(bad)} ${plural('uses', 'use', bad)} ${noun} ${forbidden.join(', ')}` }
}

const probeHosts: Check = (spec, _pod, minor) => {
  if (minor < 34) return undefined
  const hosts = (container: Container): readonly string[] =>
    [
      container.livenessProbe,
      container.readinessProbe,
      container.startupProbe,
      container.lifecycle?.postStart,
      container.lifecycle?.preStop,
    ].flatMap((handler) => [handler?.httpGet?.host ?? '', handler?.tcpSocket?.host ?? ''].filter((host) => host !== ''))
  const bad = containersOf(spec).filter((container) => hosts(container).length > 0)
  if (bad.length === 0) return undefined
  const names = distinct(bad.map(({ name }) => name))
  const forbidden = distinct(bad.flatMap(hosts))
  const noun = plural('probe or lifecycle host', 'probe or lifecycle hosts', forbidden)
  return {
    reason: 'probe or lifecycle host',
    detail: `${plural('container', 'containers', names)} ${quoted(names)} ${plural('uses', 'use', names)} ${noun} ${quoted(forbidden)}`,
  }
}

const privileged: Check = (spec) => {
  const bad = containersOf(spec).filter(({ securityContext }) => securityContext?.privileged === true)
  if (bad.length === 0) return undefined
  return { reason: 'privileged', detail: `${named(bad)} must not set securityContext.privileged=true` }
}

/** Returns the violation by another procMount than `Default`. */
export const procMount: Check = (spec) => {
  const mountOf = ({ securityContext }: Container): string => securityContext?.procMount ?? 'Default'
  const bad = containersOf(spec).filter((container) => mountOf(container) !== 'Default')
  if (bad.length === 0) return undefined
  const forbidden = quoted(distinct(bad.map(mountOf)))
  return { reason: 'procMount', detail: `${named(bad)} must not set securityContext.procMount to ${forbidden}` }
}

/** Returns true when a policy is relaxed for a pod in a user namespace of its own. */
export function isRelaxed({ hostUsers }: PodSpec, minor: number): boolean {
  return minor >= 35 && hostUsers === false
}

const seLinuxOptions: Check = (spec, _pod, minor) => {
  const types = [
    '',
    'container_t',
    'container_init_t',
    'container_kvm_t',
    ...(minor >= 31 ? ['container_engine_t'] : []),
  ]
  const isBadType = ({ seLinuxOptions: options }: SecurityContext): boolean => !types.includes(options?.type ?? '')
  const setsUser = ({ seLinuxOptions: options }: SecurityContext): boolean => (options?.user ?? '') !== ''
  const setsRole = ({ seLinuxOptions: options }: SecurityContext): boolean => (options?.role ?? '') !== ''
  const who = setters(spec, (context) => isBadType(context) || setsUser(context) || setsRole(context))
  if (who === '') return undefined
  const contexts = contextsOf(spec)
  const badTypes = distinct(contexts.filter(isBadType).map((context) => context.seLinuxOptions?.type ?? ''))
  const data = [
    ...(badTypes.length > 0 ? [`${plural('type', 'types', badTypes)} ${quoted(badTypes)}`] : []),
    ...(contexts.some(setsUser) ? ['user may not be set'] : []),
    ...(contexts.some(setsRole) ? ['role may not be set'] : []),
  ]
  return {
    reason: 'seLinuxOptions',
    detail: `${who} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`,
  }
}

const seccompPod = 'seccomp.security.alpha.kubernetes.io/pod'
const seccompContainer = 'container.seccomp.security.alpha.kubernetes.io/'

/** Returns the violation by annotations, which versions before 1.19 check. */
function seccompAnnotations(spec: PodSpec, { metadata }: CheckedPod): Violation | undefined {
  const keys = [seccompPod, ...containersOf(spec).map(({ name }) => `${seccompContainer}${name}`)]
  const forbidden = distinct(
    keys.flatMap((key) => {
      const value = metadata?.annotations?.[key]
      const isAllowed = value === undefined || /^(runtime|docker)\/default$|^localhost\//.test(value)
      return isAllowed ? [] : [`${key}=${goQuote(value)}`]
    }),
  )
  if (forbidden.length === 0) return undefined
  const noun = plural('annotation', 'annotations', forbidden)
  return { reason: 'seccompProfile', detail: `forbidden ${noun} ${forbidden.join(', ')}` }
}

/** Returns the violation by seccomp profiles other than RuntimeDefault and Localhost. */
export const seccompProfile: Check = (spec, pod, minor) => {
  if (minor < 19) return seccompAnnotations(spec, pod)
  const isForbidden = ({ seccompProfile: profile }: SecurityContext): boolean =>
    profile !== undefined && profile.type !== 'RuntimeDefault' && profile.type !== 'Localhost'
  const who = setters(spec, isForbidden)
  if (who === '') return undefined
  const values = distinct(
    contextsOf(spec)
      .filter(isForbidden)
      .map((context) => context.seccompProfile?.type ?? ''),
  )
  return {
    reason: 'seccompProfile',
    detail: `${who} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
  }
}

/** Allowed sysctls by the version that added them. */
const allowedSysctls: readonly (readonly [minor: number, names: string])[] = [
  [
    0,
    'kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start',
  ],
  [27, 'net.ipv4.ip_local_reserved_ports'],
  [
    29,
    'net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes',
  ],
  [32, 'net.ipv4.tcp_rmem net.ipv4.tcp_wmem'],
]

const sysctls: Check = ({ securityContext }, _pod, minor) => {
  const allowed = new Set(allowedSysctls.flatMap(([since, names]) => (minor >= since ? names.split(' ') : [])))
  const bad = (securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !allowed.has(name))
  return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') }
}

const windowsHostProcess: Check = (spec) => {
  const who = setters(spec, ({ windowsOptions }) => windowsOptions?.hostProcess === true)
  if (who === '') return undefined
  return { reason: 'hostProcess', detail: `${who} must not set securityContext.windowsOptions.hostProcess=true` }
}

/** The checks, in the order of their messages. */
export const baselineChecks: readonly (readonly [id: string, check: Check])[] = [
  ['appArmorProfile', appArmorProfile],
  ['capabilities_baseline', capabilities],
  ['hostNamespaces', hostNamespaces],
  ['hostPathVolumes', hostPathVolumes],
  ['hostPorts', hostPorts],
  ['hostProbesAndHostLifecycle', probeHosts],
  ['privileged', privileged],
  ['procMount', (spec, pod, minor) => (isRelaxed(spec, minor) ? undefined : procMount(spec, pod, minor))],
  ['seLinuxOptions', seLinuxOptions],
  ['seccompProfile_baseline', seccompProfile],
  ['sysctls', sysctls],
  ['windowsHostProcess', windowsHostProcess],
]
