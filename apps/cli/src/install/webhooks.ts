// The webhook configuration: admission of the capabilities' kinds, by `fairlead run`.
import type { Capability, Validator } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { labelsOf } from './install-options.ts'
import type { InstallOptions } from './install-options.ts'

/** Seconds for one call; users wait for it. */
const timeoutSeconds = 10

/** Returns the configuration; `fairlead run` adds the CA bundle. */
export function webhookConfiguration(options: InstallOptions): KubeObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: options.name, labels: labelsOf(options) },
    webhooks: options.capabilities.flatMap((capability) => webhooksOf(capability, options)),
  } as unknown as KubeObject
}

/** Returns the webhooks of a capability: one for each set of kinds of a group under the same condition. */
export function webhooksOf({ name: capability, admission = [] }: Capability, options: InstallOptions): JsonObject[] {
  const sets = new Map<string, Validator[]>()
  for (const validator of admission) {
    const key = JSON.stringify([validator.group, validator.condition])
    sets.set(key, [...(sets.get(key) ?? []), validator])
  }
  return [...sets.values()].map((validators, index) => {
    const { group, condition } = validators[0]!
    const plurals = [...new Set(validators.flatMap(({ resources }) => resources))]
    return {
      name: `${capability}${index === 0 ? '' : `-${index}`}.fairlead.dev`,
      admissionReviewVersions: ['v1'],
      clientConfig: {
        service: { name: options.name, namespace: options.namespace, path: '/validate', port: 443 },
      },
      // Rights that an object needs are checked here alone: without a response nothing may pass.
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      ...(condition !== undefined && { matchConditions: [{ name: 'concerned', expression: condition }] }),
      rules: [
        {
          apiGroups: [group],
          apiVersions: ['*'],
          operations: ['CREATE', 'UPDATE'],
          resources: plurals.flatMap((plural) => [plural, `${plural}/status`]),
          scope: '*',
        },
      ],
      sideEffects: 'None',
      timeoutSeconds,
    }
  })
}
