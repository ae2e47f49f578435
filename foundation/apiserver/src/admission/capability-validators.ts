// The validators of capabilities as an admission plugin: in process what a validating webhook is in a cluster.
import { invalid } from '@fairlead/kube'
import type { Validator } from '@fairlead/controller'
import type { AdmissionPlugin } from './plugin.ts'

/** Returns the plugin; it responds with 422 to what a validator refuses. */
export function capabilityValidatorsPlugin(validators: readonly Validator[]): AdmissionPlugin {
  return {
    name: 'capabilities',
    validate({ resource, object, oldObject, subresource }) {
      if (object === undefined || subresource === 'status') return
      const { definition } = resource
      const errors = validators
        .filter(({ group, resources }) => group === definition.group && resources.includes(definition.plural))
        .flatMap((validator) => validator.validate(object, oldObject))
      if (errors.length > 0) throw invalid(definition, object.metadata.name ?? '', errors)
    },
  }
}
