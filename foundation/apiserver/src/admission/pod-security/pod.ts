// The fields of pods that the levels of PodSecurity restrict.
import type { JsonObject } from '@fairlead/kube'

interface Profile {
  readonly type?: string
}

/** A security context of a pod or a container. */
export interface SecurityContext {
  readonly privileged?: boolean
  readonly allowPrivilegeEscalation?: boolean
  readonly runAsNonRoot?: boolean
  readonly runAsUser?: number
  readonly procMount?: string
  readonly appArmorProfile?: Profile
  readonly seccompProfile?: Profile
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] }
  readonly seLinuxOptions?: { readonly type?: string; readonly user?: string; readonly role?: string }
  readonly windowsOptions?: { readonly hostProcess?: boolean }
  readonly sysctls?: readonly { readonly name: string }[]
}

interface Handler {
  readonly httpGet?: { readonly host?: string }
  readonly tcpSocket?: { readonly host?: string }
}

/** A container of any role. */
export interface Container {
  readonly name: string
  readonly image?: string
  readonly securityContext?: SecurityContext
  readonly ports?: readonly { readonly hostPort?: number }[]
  readonly livenessProbe?: Handler
  readonly readinessProbe?: Handler
  readonly startupProbe?: Handler
  readonly lifecycle?: { readonly postStart?: Handler; readonly preStop?: Handler }
}

/** A pod's spec. */
export interface PodSpec {
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly ephemeralContainers?: readonly Container[]
  readonly securityContext?: SecurityContext
  readonly hostNetwork?: boolean
  readonly hostPID?: boolean
  readonly hostIPC?: boolean
  readonly hostUsers?: boolean
  readonly os?: { readonly name?: string }
  readonly volumes?: readonly JsonObject[]
}

/** A pod, or the template of pods. */
export interface CheckedPod {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> }
  readonly spec?: PodSpec
}

/** Returns all containers in the order of their checks: init containers, containers, ephemeral ones. */
export function containersOf({
  initContainers = [],
  containers = [],
  ephemeralContainers = [],
}: PodSpec): readonly Container[] {
  return [...initContainers, ...containers, ...ephemeralContainers]
}
