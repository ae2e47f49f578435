// Aggregated ClusterRoles: keeps their rules the union of those that their selectors pick. By server-side apply, as the real controller does.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { Informer } from '@fairlead/controller'
import { jsonEqual, selectorFrom } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { aggregatedRules } from '../auth/rbac/aggregated-cluster-roles.ts'
import type { AggregatedClusterRole } from '../auth/rbac/aggregated-cluster-roles.ts'
import { wake } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

const ClusterRole: Kind<AggregatedClusterRole> = kind('rbac.authorization.k8s.io/v1', 'ClusterRole', {
  plural: 'clusterroles',
  namespaced: false,
})

/** Sets the controller up. */
export function setUpRoleAggregation(context: ControllerContext): void {
  const loop = context.manager.loop<string>({
    name: 'clusterrole-aggregation-controller',
    id: (name) => name,
    manager: 'clusterrole-aggregation-controller',
    run: async (name, { client, signal }) => {
      await roles.settled(signal)
      const role = roles.get(name)
      const rules =
        role === undefined || roles.state !== 'Synced' ? undefined : aggregatedRules(role, roles.objects.values())
      if (role === undefined || rules === undefined || jsonEqual(rules, role.rules ?? [])) return
      const applied = {
        apiVersion: ClusterRole.apiVersion,
        kind: ClusterRole.kind,
        metadata: { name },
        rules: rules as unknown as JsonValue,
      }
      await client.apply(applied, { force: true })
    },
    logFields: (name) => ({ clusterRole: name }),
  })
  const roles = wake(context, loop, ClusterRole, ({ object, previous }, all) =>
    affectedRoles(all, previous === undefined ? [object] : [object, previous]),
  )
}

/** Roles whose rules may change when these states of one role come or go. */
function* affectedRoles(
  roles: Informer<AggregatedClusterRole>,
  states: readonly AggregatedClusterRole[],
): Generator<string> {
  const [{ metadata }] = states as [KubeObject]
  yield metadata.name!
  for (const role of roles.objects.values()) {
    const selectors = role.aggregationRule?.clusterRoleSelectors ?? []
    if (
      selectors.some((selector) => states.some((state) => selectorFrom(selector).matches(state.metadata.labels ?? {})))
    ) {
      yield role.metadata.name!
    }
  }
}
