// Validation of security contexts of pods and containers (pkg/apis/core/validation, v1.35).
import type { FieldError, JsonObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, fieldPath } from '@fairlead/kube'
import { invalidWith, oneOf } from '../checks.ts'
import { flagAt, has, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { descendingPathErrors } from './paths.ts'

/** Validates the security context of a pod's spec. */
export function podSecurityErrors(path: string, spec: JsonObject): FieldError[] {
  const context = objectAt(spec, 'securityContext')
  const errors = idErrors(path, context, ['fsGroup', 'runAsUser', 'runAsGroup'])
  for (const [index, group] of ((context['supplementalGroups'] ?? []) as readonly number[]).entries())
    errors.push(...idError(fieldPath(path, 'supplementalGroups', index), group))
  if (flagAt(spec, 'shareProcessNamespace') && flagAt(spec, 'hostPID')) {
    errors.push(
      fieldErrors.invalid(
        `${path}.shareProcessNamespace`,
        true,
        'ShareProcessNamespace and HostPID cannot both be enabled',
      ),
    )
  }
  errors.push(...sysctlErrors(`${path}.sysctls`, objectsAt(context, 'sysctls'), spec))
  errors.push(...given(context, path, 'fsGroupChangePolicy', ['Always', 'OnRootMismatch']))
  errors.push(...profileErrors(path, context))
  errors.push(...given(context, path, 'supplementalGroupsPolicy', ['Merge', 'Strict']))
  errors.push(...given(context, path, 'seLinuxChangePolicy', ['Recursive']))
  return errors
}

/** Validates the security context of a container; `hostUsers`: the pod uses the user namespace of its node. */
export function containerSecurityErrors(path: string, container: JsonObject, hostUsers: boolean): FieldError[] {
  if (!has(container, 'securityContext')) return []
  const context = objectAt(container, 'securityContext')
  const errors = idErrors(path, context, ['runAsUser', 'runAsGroup'])
  if (has(context, 'procMount')) {
    errors.push(...given(context, path, 'procMount', ['Default', 'Unmasked']))
    if (hostUsers && context['procMount'] === 'Unmasked')
      errors.push(fieldErrors.invalid(`${path}.procMount`, 'Unmasked', '`hostUsers` must be false to use `Unmasked`'))
  }
  errors.push(...seccompErrors(`${path}.seccompProfile`, context))
  if (context['allowPrivilegeEscalation'] === false) {
    const invalid = (detail: string): FieldError =>
      invalidInternal(path, 'k8s.io.api.core.v1.SecurityContext', context, detail)
    if (flagAt(context, 'privileged'))
      errors.push(invalid('cannot set `allowPrivilegeEscalation` to false and `privileged` to true'))
    if (stringsAt(context, 'capabilities', 'add').includes('CAP_SYS_ADMIN'))
      errors.push(invalid('cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN'))
  }
  errors.push(...windowsErrors(`${path}.windowsOptions`, context))
  errors.push(...appArmorErrors(`${path}.appArmorProfile`, context))
  return errors
}

function given(context: JsonObject, path: string, field: string, choices: readonly string[]): FieldError[] {
  return has(context, field) ? oneOf(`${path}.${field}`, stringAt(context, field), choices) : []
}

function idErrors(path: string, context: JsonObject, fields: readonly string[]): FieldError[] {
  return fields.flatMap((field) => {
    const id = numberAt(context, field)
    return id === undefined ? [] : idError(`${path}.${field}`, id)
  })
}

function idError(field: string, id: number): FieldError[] {
  return id < 0 || id > 2147483647
    ? [fieldErrors.invalid(field, id, 'must be between 0 and 2147483647, inclusive')]
    : []
}

/** Kubernetes' expression, written so that every name is matched in one way only. */
const sysctlName = /^([a-z0-9]+([-_]+[a-z0-9]+)*[./])*[a-z0-9]+([-_]+[a-z0-9]+)*$/

function sysctlErrors(field: string, sysctls: readonly JsonObject[], spec: JsonObject): FieldError[] {
  const seen = new Set<string>()
  return sysctls.flatMap((sysctl, index) => {
    const path = fieldPath(field, index, 'name')
    const name = stringAt(sysctl, 'name')
    const errors: FieldError[] = []
    if (name === '') errors.push(fieldErrors.required(path))
    else if (name.length > 253 || !sysctlName.test(name)) {
      errors.push(
        fieldErrors.invalid(
          path,
          name,
          'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
        ),
      )
    } else if (seen.has(name)) errors.push(fieldErrors.duplicate(path, name))
    seen.add(name)
    const dotted = name.replaceAll('/', '.')
    if (flagAt(spec, 'hostNetwork') && dotted.startsWith('net.'))
      errors.push(fieldErrors.invalid(path, name, "may not be specified when 'hostNetwork' is true"))
    else if (flagAt(spec, 'hostIPC') && /^(kernel\.(sem|shm|msg)|fs\.mqueue\.)/.test(dotted))
      errors.push(fieldErrors.invalid(path, name, "may not be specified when 'hostIPC' is true"))
    return errors
  })
}

function profileErrors(path: string, context: JsonObject): FieldError[] {
  return [
    ...seccompErrors(`${path}.seccompProfile`, context),
    ...windowsErrors(`${path}.windowsOptions`, context),
    ...appArmorErrors(`${path}.appArmorProfile`, context),
  ]
}

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined']

function seccompErrors(path: string, context: JsonObject): FieldError[] {
  if (!has(context, 'seccompProfile')) return []
  const profile = objectAt(context, 'seccompProfile')
  const type = stringAt(profile, 'type')
  const local = `${path}.localhostProfile`
  const errors =
    type === ''
      ? [fieldErrors.required(`${path}.type`, 'type is required when seccompProfile is set')]
      : oneOf(`${path}.type`, type, profileTypes)
  if (type === 'Localhost') {
    if (!has(profile, 'localhostProfile'))
      return [...errors, fieldErrors.required(local, 'must be set when seccomp type is Localhost')]
    return [...errors, ...descendingPathErrors(local, stringAt(profile, 'localhostProfile'))]
  }
  if (!has(profile, 'localhostProfile')) return errors
  return [
    ...errors,
    invalidInternal(
      local,
      'k8s.io.api.core.v1.SeccompProfile',
      profile,
      'can only be set when seccomp type is Localhost',
    ),
  ]
}

function appArmorErrors(path: string, context: JsonObject): FieldError[] {
  if (!has(context, 'appArmorProfile')) return []
  const profile = objectAt(context, 'appArmorProfile')
  const type = stringAt(profile, 'type')
  const local = `${path}.localhostProfile`
  const name = has(profile, 'localhostProfile') ? stringAt(profile, 'localhostProfile') : undefined
  if (type === '') return [fieldErrors.required(`${path}.type`, 'type is required when appArmorProfile is set')]
  if (!profileTypes.includes(type)) return oneOf(`${path}.type`, type, profileTypes)
  if (type !== 'Localhost')
    return name === undefined
      ? []
      : [fieldErrors.invalid(local, name, 'can only be set when AppArmor type is Localhost')]
  if (name === undefined || name === '')
    return [fieldErrors.required(local, 'must be set when AppArmor type is Localhost')]
  if (name.trim() !== name) return [fieldErrors.invalid(local, name, 'must not be padded with whitespace')]
  return name.length > 4095 ? [fieldErrors.tooLong(local, 4095)] : []
}

function windowsErrors(path: string, context: JsonObject): FieldError[] {
  if (!has(context, 'windowsOptions')) return []
  const options = objectAt(context, 'windowsOptions')
  const name = stringAt(options, 'gmsaCredentialSpecName')
  const errors = has(options, 'gmsaCredentialSpecName')
    ? invalidWith(`${path}.gmsaCredentialSpecName`, name, dns1123Subdomain(name))
    : []
  if (has(options, 'gmsaCredentialSpec')) {
    const length = stringAt(options, 'gmsaCredentialSpec').length
    if (length === 0)
      errors.push(fieldErrors.invalid(`${path}.gmsaCredentialSpec`, '', 'gmsaCredentialSpec cannot be an empty string'))
    else if (length > 65_536)
      errors.push(
        fieldErrors.invalid(
          `${path}.gmsaCredentialSpec`,
          stringAt(options, 'gmsaCredentialSpec'),
          'gmsaCredentialSpec size must be under 64 KiB',
        ),
      )
  }
  return has(options, 'runAsUserName')
    ? [...errors, ...windowsUserErrors(`${path}.runAsUserName`, stringAt(options, 'runAsUserName'))]
    : errors
}

const netBiosName = /^[^\\/:*?<>|\u0022]{1,15}$/
const domainName = /^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$/
const wrongUserCharacters = /["/\\:;|=,+*?<>@[\]]/

/** Validates `user` or `DOMAIN\user`. */
function windowsUserErrors(field: string, name: string): FieldError[] {
  const invalid = (detail: string): FieldError => fieldErrors.invalid(field, name, `runAsUserName${detail}`)
  if (name === '') return [invalid(' cannot be an empty string')]
  const parts = name.split('\\')
  if (/\p{Cc}/u.test(name)) return [invalid(' cannot contain control characters')]
  if (parts.length > 2) return [invalid(' cannot contain more than one backslash')]
  const [domain, user = ''] = parts.length === 1 ? [undefined, name] : parts
  const errors: FieldError[] = []
  if (domain !== undefined) {
    if (domain.length >= 256) errors.push(invalid("'s Domain length must be under 256 characters"))
    if (!netBiosName.test(domain) && !domainName.test(domain))
      errors.push(invalid("'s Domain doesn't match the NetBios nor the DNS format"))
  }
  if (user === '') errors.push(invalid("'s User cannot be empty"))
  else if (user.length > 104) errors.push(invalid("'s User length must not be longer than 104 characters"))
  if (user !== '' && /^[. ]+$/.test(user)) errors.push(invalid("'s User cannot contain only periods or spaces"))
  if (wrongUserCharacters.test(user))
    errors.push(invalid(`'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]`))
  return errors
}

const podFieldsNotOfWindows = [
  'securityContext.appArmorProfile securityContext.seLinuxOptions hostUsers hostPID hostIPC',
  'securityContext.seccompProfile securityContext.fsGroup securityContext.fsGroupChangePolicy securityContext.sysctls',
  'shareProcessNamespace securityContext.runAsUser securityContext.runAsGroup securityContext.supplementalGroups',
  'securityContext.supplementalGroupsPolicy resources',
]
  .join(' ')
  .split(' ')

const containerFieldsNotOfWindows =
  'appArmorProfile seLinuxOptions seccompProfile capabilities readOnlyRootFilesystem privileged allowPrivilegeEscalation procMount runAsUser runAsGroup'.split(
    ' ',
  )

/** Validates that the pod sets no fields that its operating system does not support. */
export function operatingSystemErrors(path: string, spec: JsonObject): FieldError[] {
  if (!has(spec, 'os')) return []
  const name = stringAt(spec, 'os', 'name')
  if (name === '') return [fieldErrors.required(`${path}.os.name`)]
  if (name !== 'linux' && name !== 'windows') return oneOf(`${path}.os`, name, ['linux', 'windows'])
  const contexts = [
    { field: `${path}.securityContext`, context: objectAt(spec, 'securityContext') },
    ...containerContexts(path, spec),
  ]
  if (name === 'linux') {
    return contexts.flatMap(({ field, context }) =>
      has(context, 'windowsOptions')
        ? [fieldErrors.forbidden(`${field}.windowsOptions`, 'windows options cannot be set for a linux pod')]
        : [],
    )
  }
  const notOfWindows = 'cannot be set for a windows pod'
  return [
    ...podFieldsNotOfWindows
      .filter((field) => isSet(spec, field))
      .map((field) => fieldErrors.forbidden(`${path}.${field}`, notOfWindows)),
    ...containerContexts(path, spec).flatMap(({ field, context }) =>
      containerFieldsNotOfWindows
        .filter((name) => has(context, name))
        .map((name) => fieldErrors.forbidden(`${field}.${name}`, notOfWindows)),
    ),
  ]
}

/** Validates HostProcess containers: all of a pod or none, and on the host's network. */
export function hostProcessErrors(path: string, spec: JsonObject): FieldError[] {
  const own = objectAt(spec, 'securityContext', 'windowsOptions')['hostProcess']
  const contexts = containerContexts(path, spec)
  const flags = contexts.map(({ context }) => objectAt(context, 'windowsOptions')['hostProcess'] ?? own ?? false)
  const errors: FieldError[] = []
  for (const [index, { field, context }] of contexts.entries()) {
    const flag = objectAt(context, 'windowsOptions')['hostProcess']
    if (own === undefined || flag === undefined || flag === own) continue
    const place = `${field}.windowsOptions.hostProcess`
    errors.push(
      fieldErrors.invalid(
        place,
        flags[index] ?? null,
        `pod hostProcess value must be identical if both are specified, was ${String(own)}`,
      ),
    )
  }
  if (!flags.includes(true)) return errors
  if (flags.includes(false))
    errors.push(
      fieldErrors.invalid(
        path,
        '',
        'If pod contains any hostProcess containers then all containers must be HostProcess containers',
      ),
    )
  if (!flagAt(spec, 'hostNetwork'))
    errors.push(
      fieldErrors.invalid(
        `${path}.hostNetwork`,
        false,
        'hostNetwork must be true if pod contains any hostProcess containers',
      ),
    )
  return errors
}

function isSet(spec: JsonObject, field: string): boolean {
  const [first = '', second] = field.split('.')
  const value = second === undefined ? spec[first] : objectAt(spec, first)[second]
  const isPlainFlag = first === 'hostPID' || first === 'hostIPC'
  if (Array.isArray(value)) return value.length > 0
  return isPlainFlag ? value === true : value !== undefined && value !== null
}

function containerContexts(path: string, spec: JsonObject): { field: string; context: JsonObject }[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    objectsAt(spec, list).map((container, index) => ({
      field: fieldPath(path, list, index, 'securityContext'),
      context: objectAt(container, 'securityContext'),
    })),
  )
}
