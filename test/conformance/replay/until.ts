// The condition that a step waits for before its response counts.
import { stringifyJson } from '@fairlead/kube'
import type { ActualResponse } from './compare.ts'
import type { KubectlStep, Until } from './scenario.ts'
import { fill, fillText, valueAt } from './template.ts'
import type { TemplateScope } from './template.ts'

/** A step that waits asks again after this time, and gives up after the other. */
export const pollMs = 100
export const untilMs = 20_000

/** True when a response meets the condition of a step. */
export function holds(until: Until, actual: ActualResponse, scope: TemplateScope): boolean {
  if (until.status !== undefined && actual.status !== until.status) return false
  if (until.contains !== undefined) {
    const text = actual.json === undefined ? actual.bytes.toString() : stringifyJson(actual.json)
    if (!text.includes(fillText(until.contains, scope))) return false
  }
  if (until.path === undefined) return true
  const value = valueAt(actual.json, fillText(until.path, scope))
  if (until.exists !== undefined) return (value !== undefined) === until.exists
  return until.equals === undefined || stringifyJson(value ?? null) === stringifyJson(fill(until.equals, scope))
}

/** The same of a run of kubectl. */
export function kubectlHolds(
  until: KubectlStep['until'],
  result: { readonly exitCode: number; readonly stdout: string },
  scope: TemplateScope,
): boolean {
  return (
    (until?.exitCode === undefined || result.exitCode === Number(until.exitCode)) &&
    (until?.stdoutContains === undefined || result.stdout.includes(fillText(until.stdoutContains, scope)))
  )
}
