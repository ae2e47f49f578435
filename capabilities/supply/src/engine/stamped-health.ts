// The health of the stamped objects of one resource.
import type { KubeObject } from '@fairlead/kube'
import type { Template } from '../api.ts'
import type { Cluster } from './cluster.ts'
import type { Verdict } from './conditions/condition.ts'
import { healthOf, ruleFor, ruleOf } from './health/health.ts'
import type { HealthInput } from './health/health.ts'
import { readsNow } from './health/health-expression.ts'

/** Health and whether it can change without any event. */
export interface StampedHealth {
  readonly healthy: Verdict
  readonly readsNow: boolean
}

/** Returns the health of a stamped object; `outputs` are the names of the outputs that were read. */
export async function stampedHealth(
  template: Template,
  cluster: Cluster,
  object: KubeObject,
  outputs: readonly string[],
): Promise<StampedHealth> {
  const { spelling, rule } = ruleOf(template.spec)
  const defaults = rule?.auto === undefined ? [] : await cluster.clusterHealthRules()
  const realized = { stamped: true, outputs }
  const input: HealthInput = {
    spelling,
    rule,
    templateKind: template.kind,
    object,
    realized,
    defaults,
    now: cluster.now,
  }
  return { healthy: healthOf(input), readsNow: readsNow(ruleFor(rule, object, defaults)) }
}
