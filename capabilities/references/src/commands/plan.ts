// `fairlead refs plan`: the values that ReferenceRules would set, by the decisions of the controller.
import type { CommandContext } from '@fairlead/controller/command'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { exitCode, planReference, printPlan } from '@fairlead/offline'
import type { PlanAction } from '@fairlead/offline'
import type { ReferenceRule } from '../api.ts'
import { withValue } from '../engine/occurrences.ts'
import type { FileTarget } from '../offline/file-cluster.ts'
import { readRuleManifests } from '../offline/rule-manifests.ts'

/** Prints a plan for each rule. Exit code 1 when a reference cannot be resolved, 3 while one waits for its source. */
export async function run(
  context: CommandContext<{ readonly filename: readonly string[]; readonly output: string }, object>,
): Promise<number> {
  const { filename, output } = context.options
  const cluster = await readRuleManifests(filename, context)
  const plans = cluster.rules.map((rule) => ({ rule, targets: cluster.targets(rule) }))
  printPlan(
    context.out,
    plans.map(({ rule, targets }) => ({
      title: `ReferenceRule ${rule.metadata.name}`,
      actions: targets.flatMap((target) => actionOf(rule, target)),
    })),
    output,
  )
  const states = plans.flatMap(({ targets }) =>
    targets.flatMap(({ plan }) => (plan.do === 'withdraw' ? [] : (plan.state?.state ?? []))),
  )
  if (states.includes('failing')) return exitCode.error
  return states.includes('waiting') ? exitCode.notReady : exitCode.ok
}

function actionOf({ spec }: ReferenceRule, { manifest: { object }, plan }: FileTarget): readonly PlanAction[] {
  const { fieldPath } = spec.target
  const reference = planReference(object)
  if (plan.do === 'withdraw')
    return [{ op: 'withdraw', object: reference, reason: 'NoReference', message: `${fieldPath} is removed` }]
  if (plan.do === 'set') {
    const { apiVersion, kind } = object
    const { namespace, name } = object.metadata
    const identity = { apiVersion, kind, metadata: { namespace, name } } as unknown as JsonObject
    const configuration = withValue(identity, fieldPath, plan.value) as unknown as KubeObject
    const message = `${fieldPath} becomes ${JSON.stringify(plan.value)}`
    return [{ op: 'set', object: reference, reason: plan.state.reason, message, configuration }]
  }
  if (plan.state === undefined) return []
  const op = plan.state.state === 'resolved' ? 'keep' : plan.state.state === 'waiting' ? 'wait' : 'refuse'
  const { reason, message } = plan.state
  return [{ op, object: reference, reason, ...(message === '' ? {} : { message }) }]
}
