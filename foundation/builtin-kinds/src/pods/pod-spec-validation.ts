// Validation of a pod's spec, alone or in a template (pkg/apis/core/validation, v1.35), in the real server's order of
// causes.
import type { FieldError, JsonObject } from '@fairlead/kube'
import { dns1123Subdomain, fieldErrors, fieldPath, qualifiedName } from '@fairlead/kube'
import { invalidWith, labelErrors, labelName, oneOf, subdomainName } from '../checks.ts'
import { invalidInternal } from '../go-types/internal-form.ts'
import { flagAt, has, mapAt, numberAt, objectAt, objectsAt, stringAt, stringsAt } from '../fields.ts'
import { isIpAddress } from '../addresses/ip-address.ts'
import type { ContainerContext } from './container-validation.ts'
import {
  containerErrors,
  ephemeralContainerErrors,
  imageSpaceErrors,
  initContainerErrors,
} from './container-validation.ts'
import { podResourceErrors } from './pod-resource-validation.ts'
import { resourceErrors } from './resource-validation.ts'
import { affinityErrors, gateErrors, spreadErrors, tolerationErrors } from './scheduling-validation.ts'
import { hostProcessErrors, operatingSystemErrors, podSecurityErrors } from './security-validation.ts'
import { checkVolumes } from './volume-validation.ts'

/** Validates a PodSpec. `path` is `spec`, `template.spec` or `spec.template.spec`. */
export function podSpecErrors(path: string, spec: JsonObject): FieldError[] {
  const volumes = checkVolumes(`${path}.volumes`, objectsAt(spec, 'volumes'))
  const containers = objectsAt(spec, 'containers')
  const initContainers = objectsAt(spec, 'initContainers')
  const context: ContainerContext = {
    volumes: volumes.valid,
    claims: new Set(objectsAt(spec, 'resourceClaims').map((claim) => stringAt(claim, 'name'))),
    gracePeriod: numberAt(spec, 'terminationGracePeriodSeconds'),
    restartPolicy: stringAt(spec, 'restartPolicy'),
    hostUsers: spec['hostUsers'] !== false,
  }
  return [
    ...volumes.errors,
    ...resourceClaimErrors(`${path}.resourceClaims`, objectsAt(spec, 'resourceClaims')),
    ...containerErrors(`${path}.containers`, containers, context),
    ...initContainerErrors(`${path}.initContainers`, initContainers, containers, context),
    ...ephemeralContainerErrors(
      `${path}.ephemeralContainers`,
      objectsAt(spec, 'ephemeralContainers'),
      [...containers, ...initContainers],
      context,
    ),
    ...podResourceErrors(path, spec, context.claims),
    ...hostNetworkErrors(path, spec, path === 'spec'),
    ...oneOf(`${path}.restartPolicy`, context.restartPolicy, ['Always', 'OnFailure', 'Never'], 'required'),
    ...oneOf(
      `${path}.dnsPolicy`,
      stringAt(spec, 'dnsPolicy'),
      ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'],
      'required',
    ),
    ...labelErrors(`${path}.nodeSelector`, mapAt(spec, 'nodeSelector')),
    ...podSecurityErrors(`${path}.securityContext`, spec),
    ...affinityErrors(`${path}.affinity`, objectAt(spec, 'affinity')),
    ...dnsErrors(`${path}.dnsConfig`, spec),
    ...objectsAt(spec, 'readinessGates').flatMap((gate, index) => {
      const type = stringAt(gate, 'conditionType')
      return invalidWith(fieldPath(path, 'readinessGates', index, 'conditionType'), type, qualifiedName(type))
    }),
    ...gateErrors(`${path}.schedulingGates`, objectsAt(spec, 'schedulingGates')),
    ...spreadErrors(`${path}.topologySpreadConstraints`, objectsAt(spec, 'topologySpreadConstraints')),
    ...hostProcessErrors(path, spec),
    ...hostUserErrors(path, spec),
    ...hostnameOverrideErrors(path, spec),
    ...named(`${path}.serviceAccountName`, stringAt(spec, 'serviceAccountName')),
    ...named(`${path}.nodeName`, stringAt(spec, 'nodeName')),
    ...deadlineErrors(`${path}.activeDeadlineSeconds`, numberAt(spec, 'activeDeadlineSeconds')),
    ...['hostname', 'subdomain'].flatMap((field) =>
      stringAt(spec, field) === '' ? [] : labelName(`${path}.${field}`, stringAt(spec, field)),
    ),
    ...tolerationErrors(`${path}.tolerations`, objectsAt(spec, 'tolerations')),
    ...hostAliasErrors(`${path}.hostAliases`, objectsAt(spec, 'hostAliases')),
    ...named(`${path}.priorityClassName`, stringAt(spec, 'priorityClassName')),
    ...(has(spec, 'runtimeClassName')
      ? subdomainName(`${path}.runtimeClassName`, stringAt(spec, 'runtimeClassName'))
      : []),
    ...(has(spec, 'preemptionPolicy')
      ? oneOf(
          `${path}.preemptionPolicy`,
          stringAt(spec, 'preemptionPolicy'),
          ['PreemptLowerPriority', 'Never'],
          'required',
        )
      : []),
    ...(has(spec, 'overhead')
      ? resourceErrors(`${path}.overhead`, { limits: mapAt(spec, 'overhead') }, new Set())
      : []),
    ...operatingSystemErrors(path, spec),
  ]
}

/** Validates the claims of a pod: each names a ResourceClaim, or the template of one. */
function resourceClaimErrors(field: string, claims: readonly JsonObject[]): FieldError[] {
  const names = new Set<string>()
  return claims.flatMap((claim, index) => {
    const path = fieldPath(field, index)
    const name = stringAt(claim, 'name')
    const errors: FieldError[] = []
    if (name === '') errors.push(fieldErrors.required(`${path}.name`))
    else if (names.has(name)) errors.push(fieldErrors.duplicate(`${path}.name`, name))
    else {
      errors.push(...labelName(`${path}.name`, name))
      names.add(name)
    }
    const sources = ['resourceClaimName', 'resourceClaimTemplateName'].filter((source) => has(claim, source))
    const invalid = (detail: string): FieldError =>
      invalidInternal(path, 'k8s.io.api.core.v1.PodResourceClaim', claim, detail)
    if (sources.length > 1)
      errors.push(invalid('at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'))
    if (sources.length === 0)
      errors.push(invalid('must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'))
    for (const source of sources) errors.push(...subdomainName(`${path}.${source}`, stringAt(claim, source)))
    return errors
  })
}

/** Validates the fields that templates may have and pods may not. */
export function standalonePodErrors(spec: JsonObject): FieldError[] {
  const errors: FieldError[] = []
  if (stringAt(spec, 'serviceAccountName') === '') {
    for (const [index, volume] of objectsAt(spec, 'volumes').entries()) {
      for (const [at, source] of objectsAt(volume, 'projected', 'sources').entries()) {
        if (has(source, 'serviceAccountToken'))
          errors.push(
            fieldErrors.forbidden(
              fieldPath('spec.volumes', index, 'projected', 'sources', at, 'serviceAccountToken'),
              'must not be specified when serviceAccountName is not set',
            ),
          )
      }
    }
  }
  for (const list of ['containers', 'initContainers'])
    for (const [index, container] of objectsAt(spec, list).entries())
      errors.push(...imageSpaceErrors(fieldPath('spec', list, index), container))
  return errors
}

function named(field: string, name: string): FieldError[] {
  return name === '' ? [] : subdomainName(field, name)
}

/** Checks the ports of a pod on the host's network, which must equal the host's; a template may omit host ports. */
function hostNetworkErrors(path: string, spec: JsonObject, isPod: boolean): FieldError[] {
  if (!flagAt(spec, 'hostNetwork')) return []
  return objectsAt(spec, 'containers').flatMap((container, index) =>
    objectsAt(container, 'ports').flatMap((port, at) => {
      const hostPort = numberAt(port, 'hostPort') ?? 0
      if ((!isPod && hostPort === 0) || hostPort === (numberAt(port, 'containerPort') ?? 0)) return []
      return [
        fieldErrors.invalid(
          fieldPath(path, 'containers', index, 'ports', at, 'hostPort'),
          hostPort,
          'must match `containerPort` when `hostNetwork` is true',
        ),
      ]
    }),
  )
}

function dnsErrors(path: string, spec: JsonObject): FieldError[] {
  const config = objectAt(spec, 'dnsConfig')
  const servers = stringsAt(config, 'nameservers')
  const searches = stringsAt(config, 'searches')
  if (stringAt(spec, 'dnsPolicy') === 'None') {
    if (!has(spec, 'dnsConfig'))
      return [fieldErrors.required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')]
    if (servers.length === 0)
      return [
        fieldErrors.required(
          `${path}.nameservers`,
          'must provide at least one DNS nameserver when `dnsPolicy` is None',
        ),
      ]
  }
  const errors: FieldError[] = []
  if (servers.length > 3)
    errors.push(fieldErrors.invalid(`${path}.nameservers`, servers, 'must not have more than 3 nameservers'))
  for (const [index, server] of servers.entries())
    errors.push(...ipErrors(fieldPath(path, 'nameservers', index), server))
  if (searches.length > 32)
    errors.push(fieldErrors.invalid(`${path}.searches`, searches, 'must not have more than 32 search paths'))
  if (searches.join(' ').length > 2048)
    errors.push(
      fieldErrors.invalid(
        `${path}.searches`,
        searches,
        'must not have more than 2048 characters (including spaces) in the search list',
      ),
    )
  for (const [index, search] of searches.entries())
    if (search !== '.') errors.push(...searchErrors(fieldPath(path, 'searches', index), search.replace(/\.$/, '')))
  for (const [index, option] of objectsAt(config, 'options').entries())
    if (stringAt(option, 'name') === '')
      errors.push(fieldErrors.required(fieldPath(path, 'options', index), 'must not be empty'))
  return errors
}

/** Validates a search domain of dnsConfig: a subdomain whose labels may have underscores. */
function searchErrors(field: string, search: string): FieldError[] {
  const errors: FieldError[] = []
  if (search.length > 253) errors.push(fieldErrors.invalid(field, search, 'must be no more than 253 characters'))
  if (!/^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/.test(search)) {
    errors.push(
      fieldErrors.invalid(
        field,
        search,
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
      ),
    )
  }
  return errors
}

function ipErrors(field: string, text: string): FieldError[] {
  return isIpAddress(text)
    ? []
    : [fieldErrors.invalid(field, text, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
}

function hostAliasErrors(field: string, aliases: readonly JsonObject[]): FieldError[] {
  return aliases.flatMap((alias, index) => [
    ...ipErrors(fieldPath(field, index, 'ip'), stringAt(alias, 'ip')),
    ...stringsAt(alias, 'hostnames').flatMap((name, at) =>
      invalidWith(fieldPath(field, index, 'hostnames', at), name, dns1123Subdomain(name)),
    ),
  ])
}

/** Checks that a pod with its own user namespace uses no other namespaces of its node. */
function hostUserErrors(path: string, spec: JsonObject): FieldError[] {
  if (spec['hostUsers'] !== false) return []
  return [
    ['hostNetwork', 'hostNetwork'],
    ['hostPID', 'HostPID'],
    ['hostIPC', 'HostIPC'],
  ].flatMap(([field = '', shown = '']) =>
    flagAt(spec, field) ? [fieldErrors.forbidden(`${path}.${shown}`, 'when `hostUsers` is false')] : [],
  )
}

function hostnameOverrideErrors(path: string, spec: JsonObject): FieldError[] {
  if (!has(spec, 'hostnameOverride')) return []
  const field = `${path}.hostnameOverride`
  const name = stringAt(spec, 'hostnameOverride')
  const errors: FieldError[] = []
  if (flagAt(spec, 'setHostnameAsFQDN'))
    errors.push(fieldErrors.forbidden(field, 'may not be specified when setHostnameAsFQDN is true'))
  if (flagAt(spec, 'hostNetwork'))
    errors.push(fieldErrors.forbidden(field, 'may not be specified when hostNetwork is true'))
  if (name.length > 64) errors.push(fieldErrors.tooLong(field, 64))
  return [...errors, ...subdomainName(field, name)]
}

function deadlineErrors(field: string, seconds: number | undefined): FieldError[] {
  return seconds !== undefined && (seconds < 1 || seconds > 2147483647)
    ? [fieldErrors.invalid(field, seconds, 'must be between 1 and 2147483647, inclusive')]
    : []
}
