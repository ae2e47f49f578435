// Plans as people read them.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson, stringifyYamlDocuments } from '@fairlead/kube'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { Action } from '../engine/plan.ts'
import type { Rehearsed, RehearsedParent } from '../offline/rendering.ts'

/** One line for each group and each action. */
export function planText(parents: readonly RehearsedParent[]): string {
  return parents
    .flatMap(({ parent, problem, groups }) => [
      formatIdentity(identityOf(parent)),
      ...(problem === undefined ? [] : [`  ! ${problem}`]),
      ...groups.flatMap(groupLines),
    ])
    .join('\n')
}

/** The objects that would be created or changed, as YAML. */
export function planYaml(parents: readonly RehearsedParent[]): string {
  return stringifyYamlDocuments(parents.flatMap(({ groups }) => groups.flatMap(({ plan }) => plan.flatMap(appliedBy))))
}

/** Everything, as JSON. */
export function planJson(parents: readonly RehearsedParent[]): JsonObject {
  return {
    parents: parents.map(({ parent, problem, groups }) => ({
      parent: formatIdentity(identityOf(parent)),
      ...(problem === undefined ? {} : { problem }),
      groups: groups.map(({ input, mapKey, step, plan, adopted, error, resyncAfterSeconds }) => ({
        input,
        mapKey,
        step,
        ...(error === undefined ? {} : { error: error.message }),
        ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
        ...(adopted.length === 0 ? {} : { adopted: adopted.map((orphan) => formatIdentity(identityOf(orphan))) }),
        actions: plan.map(actionJson),
      })),
    })),
  }
}

function groupLines({ input, step, plan, adopted, error, resyncAfterSeconds }: Rehearsed): string[] {
  const again = resyncAfterSeconds === undefined ? '' : `, again in ${resyncAfterSeconds} s`
  const lines = [`  ${input}  (${stepText(step)}${again})`]
  for (const orphan of adopted) lines.push(`    adopt  ${formatIdentity(identityOf(orphan))}  Orphan`)
  if (error !== undefined) return [...lines, `    ! ${error.message}`]
  return [
    ...lines,
    ...plan.map(
      (action) =>
        `    ${action.op.padEnd(7)}${formatIdentity(identityOfAction(action))}  ${action.op === 'refuse' ? action.message : action.reason}`,
    ),
  ]
}

function stepText(step: Rehearsed['step']): string {
  const texts = {
    map: 'asked the map hook',
    tombstone: 'input gone, asked the tombstone hook',
    delete: 'input gone, no tombstone hook',
    wait: 'waits until everything is known',
    stop: 'the chain of maps is too long',
    nothing: 'nothing to do',
  }
  return texts[step]
}

function identityOfAction(action: Action): ReturnType<typeof identityOf> {
  if (action.op === 'refuse') return action.identity
  return identityOf('observed' in action ? action.observed : action.configuration.object)
}

function appliedBy(action: Action): KubeObject[] {
  if (action.op === 'create' || action.op === 'update') return [action.configuration.object]
  return action.op === 'delete' && action.next !== undefined ? [action.next.configuration.object] : []
}

function actionJson(action: Action): JsonObject {
  const [object] = appliedBy(action)
  return {
    op: action.op,
    object: formatIdentity(identityOfAction(action)),
    reason: action.reason,
    ...(action.op === 'refuse' ? { message: action.message } : {}),
    ...(object === undefined ? {} : { configuration: asJson(object) }),
  }
}
