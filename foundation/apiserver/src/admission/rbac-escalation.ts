// The admission plugin that prevents users from granting themselves permissions.
import type { AdmissionPlugin } from './plugin.ts'
import { checkEscalation, isEscalationGuarded } from '../auth/rbac/escalation.ts'
import type { RbacState } from '../auth/rbac/escalation.ts'

/**
 * Returns the plugin; it refuses roles and bindings that grant more than their writer has. It is the first plugin: it
 * runs before defaults, validation and webhooks.
 */
export function rbacEscalationPlugin(state: RbacState): AdmissionPlugin {
  return {
    name: 'rbac-escalation',
    mutate: ({ operation, resource, subresource, namespace, name, object, oldObject, user }) => {
      const { group, plural } = resource.definition
      if (object === undefined || subresource !== '' || !isEscalationGuarded(group, plural)) return undefined
      const requestName = operation === 'CREATE' ? '' : name
      const error = checkEscalation({ user, resource: plural, namespace, requestName, object, old: oldObject }, state)
      if (error !== undefined) throw error
      return undefined
    },
  }
}
