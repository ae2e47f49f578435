// The validators of capabilities as an admission plugin: in process what a validating webhook is in a cluster.
import { accessRequiredBy, accessToKind, missingAccess } from '@fairlead/controller'
import type { Validator } from '@fairlead/controller'
import { invalid } from '@fairlead/kube'
import type { Authorizer } from '../identity/authorizer.ts'
import type { RegistryReader } from '../registry/registry.ts'
import type { AdmissionPlugin } from './plugin.ts'

/**
 * Returns the plugin; it responds with 422 to what a validator refuses, and with 403 when the user lacks a right that a
 * validator requires for the write.
 */
export function capabilityValidatorsPlugin(
  validators: readonly Validator[],
  { authorizer, registry }: { readonly authorizer: Authorizer; readonly registry: RegistryReader },
): AdmissionPlugin {
  return {
    name: 'capabilities',
    validate({ resource, object, oldObject, subresource, user }) {
      if (object === undefined) return
      const { definition } = resource
      const name = object.metadata.name ?? ''
      const errors = validators
        .filter(({ group, resources }) => group === definition.group && resources.includes(definition.plural))
        .flatMap((validator) => (subresource === 'status' ? [] : validator.validate(object, oldObject)))
      if (errors.length > 0) throw invalid(definition, name, errors)
      for (const required of accessRequiredBy(validators, definition, user.name, { object, old: oldObject })) {
        const access = 'kind' in required ? accessToKind(required, pluralOf(required, registry)) : required
        if (!authorizer.authorize({ ...access, user }).allowed) throw missingAccess(definition, name, user.name, access)
      }
    },
  }
}

function pluralOf(
  { group, kind }: { readonly group: string; readonly kind: string },
  { definitions }: RegistryReader,
): string | undefined {
  for (const definition of definitions)
    if (definition.group === group && definition.kind === kind) return definition.plural
  return undefined
}
