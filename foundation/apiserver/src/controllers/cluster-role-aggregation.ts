// Keeps the rules of aggregated ClusterRoles: the union of the rules that their selectors match. By server-side apply,
// like the real controller.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { Informer } from '@fairlead/controller'
import { jsonEqual, selectorFrom } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { aggregatedRules } from '../auth/rbac/aggregated-cluster-roles.ts'
import type { AggregatedClusterRole } from '../auth/rbac/aggregated-cluster-roles.ts'
import { enqueueOn } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

const ClusterRole: Kind<AggregatedClusterRole> = kind('rbac.authorization.k8s.io/v1', 'ClusterRole', {
  plural: 'clusterroles',
  namespaced: false,
})

/** Sets up the controller. */
export function setUpRoleAggregation(context: ControllerContext): void {
  const loop = context.manager.loop<string>({
    name: 'clusterrole-aggregation-controller',
    id: (name) => name,
    manager: 'clusterrole-aggregation-controller',
    run: async (name, { client, signal }) => {
      await roles.waitForState(signal)
      const read = roles.read()
      if (!read.known) return
      const role = read.objects.get(name)
      const rules = role === undefined ? undefined : aggregatedRules(role, read.objects.values())
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
  const roles = enqueueOn(context, loop, ClusterRole, ({ object, previous }, all) =>
    affectedRoles(all, previous === undefined ? [object] : [object, previous]),
  )
}

/** Yields the roles whose rules may change with these states of one role. */
function* affectedRoles(
  roles: Informer<AggregatedClusterRole>,
  states: readonly AggregatedClusterRole[],
): Generator<string> {
  const [{ metadata }] = states as [KubeObject]
  yield metadata.name!
  for (const role of roles.lastKnown.values()) {
    const selectors = role.aggregationRule?.clusterRoleSelectors ?? []
    if (
      selectors.some((selector) => states.some((state) => selectorFrom(selector).matches(state.metadata.labels ?? {})))
    ) {
      yield role.metadata.name!
    }
  }
}
