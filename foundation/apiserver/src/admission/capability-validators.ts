// The validators of capabilities as an admission plugin: in process what a validating webhook is in a cluster.
import { accessRequiredBy, missingAccess } from '@fairlead/controller'
import type { Validator } from '@fairlead/controller'
import { invalid } from '@fairlead/kube'
import type { Authorizer } from '../identity/authorizer.ts'
import type { AdmissionPlugin } from './plugin.ts'

/**
 * Returns the plugin; it responds with 422 to what a validator refuses, and with 403 when the user lacks a right that a
 * validator requires for the write.
 */
export function capabilityValidatorsPlugin(validators: readonly Validator[], authorizer: Authorizer): AdmissionPlugin {
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
      for (const access of accessRequiredBy(validators, definition, user.name, { object, old: oldObject }))
        if (!authorizer.authorize({ ...access, user }).allowed) throw missingAccess(definition, name, user.name, access)
    },
  }
}
