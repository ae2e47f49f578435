// Writes the result of type checking to the status of ValidatingAdmissionPolicies, once per generation. By server-side
// apply, like the real controller.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { typeWarnings } from '../admission/policies/type-check.ts'
import type { ValidatingAdmissionPolicy } from '../admission/policies/policy.ts'
import { enqueueOn } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

interface CheckedPolicy extends ValidatingAdmissionPolicy {
  readonly status?: { readonly observedGeneration?: number }
}

const Policy: Kind<CheckedPolicy> = kind('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', {
  plural: 'validatingadmissionpolicies',
  namespaced: false,
})

const manager = 'validatingadmissionpolicy-status'

/** Sets up the controller. */
export function setUpPolicyStatus(context: ControllerContext): void {
  const loop = context.manager.loop<string>({
    name: manager,
    id: (name) => name,
    manager,
    run: async (name, { client, signal }) => {
      await policies.waitForState(signal)
      const policy = policies.lastKnown.get(name)
      const generation = policy?.metadata.generation ?? 0
      if (policy === undefined || generation <= (policy.status?.observedGeneration ?? 0)) return
      const warnings = typeWarnings(policy, context.resources.definitions)
      const typeChecking: JsonObject =
        warnings.length === 0 ? {} : { expressionWarnings: warnings as unknown as JsonValue }
      const applied: KubeObject = {
        apiVersion: Policy.apiVersion,
        kind: Policy.kind,
        metadata: { name },
        status: { observedGeneration: generation, typeChecking },
      }
      await client.apply(applied, { subresource: 'status', force: true })
    },
    logFields: (name) => ({ validatingAdmissionPolicy: name }),
  })
  const policies = enqueueOn(context, loop, Policy, ({ object }) => [object.metadata.name!])
}
