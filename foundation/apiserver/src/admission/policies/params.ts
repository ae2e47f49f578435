// The parameters of a binding: objects of the policy's paramKind, by name or by selector.
import { parseApiVersion, selectorFrom } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { RegistryReader, ServedResource } from '../../registry/registry.ts'
import { resourceName } from '@fairlead/builtin-kinds'
import { fromStored, servedForm } from '../../views/views.ts'
import type { ParamRef, PolicyBinding, ValidatingAdmissionPolicy } from './policy.ts'

/** The source of parameters. */
export interface ParamSource {
  readonly registry: RegistryReader
  readonly read: (resource: string, key: string) => KubeObject | undefined
  readonly list: (resource: string) => Iterable<KubeObject>
}

/**
 * The parameters cannot be found because the policy or the binding is wrong.
 * @internal handled as the policy's failurePolicy says
 */
export class ConfigurationError extends Error {
  readonly code = 'PolicyConfiguration'
}

/**
 * Returns the resource of a policy's paramKind; undefined when it has none.
 * @throws ConfigurationError when it is not served
 */
export function paramResource(
  { spec }: ValidatingAdmissionPolicy,
  registry: RegistryReader,
): ServedResource | undefined {
  if (spec?.paramKind === undefined) return undefined
  const { apiVersion = '', kind = '' } = spec.paramKind
  const { group, version } = parseApiVersion(apiVersion)
  const resource = registry.findKind(group, version, kind)
  if (resource !== undefined) return resource
  throw new ConfigurationError(`failed to find resource referenced by paramKind: '${group}/${version}, Kind=${kind}'`)
}

/**
 * Returns the parameters to validate with, one after the other; an `undefined` entry is a validation without
 * parameters.
 * @throws ConfigurationError
 */
export async function paramsOf(
  resource: ServedResource | undefined,
  { spec }: PolicyBinding,
  namespace: string,
  source: ParamSource,
): Promise<readonly (KubeObject | undefined)[]> {
  const ref = spec?.paramRef
  if (resource === undefined || ref === undefined) return [undefined]
  const found = findParams(resource, ref, namespace, source)
  if (found.length === 0 && ref.parameterNotFoundAction === 'Deny') {
    throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction')
  }
  const converted = await fromStored(found, resource)
  return converted.map((object, index) =>
    servedForm(object, 0, resource, found[index]!.apiVersion !== resource.apiVersion),
  )
}

function findParams(
  resource: ServedResource,
  ref: ParamRef,
  requestNamespace: string,
  { read, list }: ParamSource,
): readonly KubeObject[] {
  const { definition } = resource
  const given = ref.namespace ?? ''
  if (!definition.namespaced && given !== '')
    throw new ConfigurationError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`')
  const namespace = definition.namespaced ? given || requestNamespace : ''
  if (definition.namespaced && namespace === '') {
    throw new ConfigurationError(
      'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
    )
  }
  const name = resourceName(definition)
  if ((ref.name ?? '') !== '') {
    const object = read(name, namespace === '' ? ref.name! : `${namespace}/${ref.name}`)
    return object === undefined ? [] : [object]
  }
  if (ref.selector === undefined) throw new ConfigurationError('one of name or selector must be provided')
  const selector = selectorFrom(ref.selector)
  return [...list(name)].filter(
    ({ metadata }) => (metadata.namespace ?? '') === namespace && selector.matches(metadata.labels ?? {}),
  )
}
