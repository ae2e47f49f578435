// Prints plans: the actions that a command would carry out, each with its object and reason. Start with formatPlan.
import { asJson, stringifyYamlDocuments } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { usageError } from './command-error.ts'
import { formatStructured } from './structured-output.ts'

/** Reference to the object of an action. */
export interface PlanReference {
  readonly apiVersion: string
  readonly kind: string
  /** Left out for cluster-scoped objects. */
  readonly namespace?: string
  readonly name: string
}

/** One action: `create`, `update`, `delete`, `keep`, `refuse`, ... and its reason. */
export interface PlanAction {
  readonly op: string
  readonly object: PlanReference
  /** In CamelCase, as in conditions and events. */
  readonly reason: string
  /** A sentence for what the reason does not say. */
  readonly message?: string
  /** The object that would be applied. */
  readonly configuration?: KubeObject
}

/** Actions under a heading, such as the object that they are derived from. Plans nest. */
export interface Plan {
  readonly title: string
  /** Why there is no plan. */
  readonly error?: string
  /** Further lines below the title. */
  readonly notes?: readonly string[]
  readonly actions?: readonly PlanAction[]
  readonly parts?: readonly Plan[]
}

/** The output formats of plans. */
export const planFormats = ['text', 'yaml', 'json'] as const

/** `text` for people, `yaml` the objects that would be applied, `json` everything. */
export type PlanFormat = (typeof planFormats)[number]

/**
 * Returns plans as a string: text, the YAML documents of the objects that would be applied, or JSON.
 * @throws CommandError (usage) when there is no such format
 */
export function formatPlan(plans: readonly Plan[], format: string = 'text'): string {
  switch (format) {
    case 'text':
      return plans.flatMap((plan) => linesOf(plan, '')).join('\n')
    case 'yaml':
      return stringifyYamlDocuments(plans.flatMap(configurationsOf))
    case 'json':
      return formatStructured({ plans: plans.map(jsonOf) }, 'json')
    default:
      throw usageError(`There is no output format ${format}; there are text, yaml and json`)
  }
}

/**
 * Prints plans in a format; `out` takes a string and ends the line.
 * @throws CommandError (usage) when there is no such format
 */
export function printPlan(out: (text: string) => void, plans: readonly Plan[], format?: string): void {
  out(formatPlan(plans, format))
}

/** Returns the reference to an object. */
export function planReference({ apiVersion, kind, metadata }: KubeObject): PlanReference {
  const { namespace, name = metadata.generateName ?? '' } = metadata
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name }
}

function linesOf({ title, error, notes = [], actions = [], parts = [] }: Plan, indent: string): string[] {
  const inner = `${indent}  `
  const width = Math.max(0, ...actions.map(({ op }) => op.length))
  return [
    `${indent}${title}`,
    ...notes.map((note) => `${inner}${note}`),
    ...(error === undefined ? [] : [`${inner}! ${error}`]),
    ...actions.map((action) => `${inner}${lineOf(action, width)}`),
    ...parts.flatMap((part) => linesOf(part, inner)),
  ]
}

function lineOf({ op, object: { kind, namespace, name }, reason, message }: PlanAction, width: number): string {
  const key = namespace === undefined ? name : `${namespace}/${name}`
  return `${op.padEnd(width)}  ${kind} ${key}  ${reason}${message === undefined ? '' : `: ${message}`}`
}

function configurationsOf({ actions = [], parts = [] }: Plan): KubeObject[] {
  return [
    ...actions.flatMap(({ configuration }) => (configuration === undefined ? [] : [configuration])),
    ...parts.flatMap(configurationsOf),
  ]
}

function jsonOf({ actions, parts, ...plan }: Plan): JsonObject {
  return asJson({
    ...plan,
    ...(actions && { actions }),
    ...(parts && { parts: parts.map(jsonOf) }),
  })
}
