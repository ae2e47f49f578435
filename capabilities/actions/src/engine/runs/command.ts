// Plans a command action: validates the inputs, resolves the command, and returns the Jobs to create.
import { ownValue } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { Target } from '../mapping/target.ts'
import { partFor } from '../maps/merge.ts'
import type { MergedAction, MergedMap } from '../maps/merge.ts'
import { PatternResolver } from '../patterns/pattern-resolver.ts'
import type { PatternScope } from '../patterns/pattern-resolver.ts'
import { PatternError } from '../patterns/pattern.ts'
import { commandsOf } from './command-line.ts'
import { checkInputs, parseForm, resolveForm } from './inputs.ts'
import type { InputForm } from './inputs.ts'
import { jobFor } from './job.ts'
import type { JobRequest, JobSettings } from './job.ts'

/** A request to run a command action. */
export interface RunRequest {
  readonly target: Target
  readonly user: string
  readonly application?: { readonly name: string; readonly namespace: string } | undefined
  /** The inputs of the user. */
  readonly body?: JsonValue | undefined
}

/** The context of a plan. */
export interface PlanContext {
  readonly merged: MergedMap
  readonly settings: JobSettings
  /** The scope of the patterns, without the inputs. */
  readonly scope: Omit<PatternScope, 'inputs'>
  /** Returns unique strings for the names of Jobs. */
  readonly newUid: () => string
}

/** Returns the Jobs of a run, one per selected pod. Throws InputError or PatternError. */
export async function planCommand(
  action: MergedAction,
  request: RunRequest,
  context: PlanContext,
): Promise<readonly KubeObject[]> {
  const { scope, settings, newUid } = context
  const image = requiredField(action, 'image')
  const template = requiredField(action, 'cmd-pattern')
  const form = await formOf(action, context)
  const definedIn = action.from.map
  const snippetOf = (name: string): string | undefined => {
    const source = partFor(context.merged, definedIn, 'snippets', name)
    return typeof source === 'string' ? source : undefined
  }
  const inputs = form && (await checkInputs(form, request.body, snippetOf, scope.runSnippet))
  const resolver = new PatternResolver({ ...scope, inputs })
  const commands = await commandsOf(template, (pattern) => resolver.resolve(pattern, definedIn))
  const job: Omit<JobRequest, 'command'> = {
    target: request.target,
    action: action.name,
    text: menuText(action.fields),
    image,
    application: request.application,
    user: request.user,
  }
  return commands.map((command) => jobFor({ ...job, command }, settings, newUid()))
}

/**
 * Returns the input form of an action with its choices resolved; undefined when it has none. Throws InputError or
 * PatternError.
 */
export async function formOf(
  action: MergedAction,
  { merged, scope }: Pick<PlanContext, 'merged' | 'scope'>,
): Promise<InputForm | undefined> {
  const name = ownValue(action.fields, 'requires-input')
  if (typeof name !== 'string' || name === '') return undefined
  const resolver = new PatternResolver({ ...scope, inputs: undefined })
  return resolveForm(parseForm(name, partFor(merged, action.from.map, 'inputs', name)), (pattern) =>
    resolver.resolveWhole(pattern, action.from.map),
  )
}

/** Returns the text of an action in menus. */
export function menuText(fields: JsonObject): string {
  for (const key of ['text', 'description', 'name']) {
    const value = ownValue(fields, key)
    if (typeof value === 'string' && value !== '') return value
  }
  return String(ownValue(fields, 'name') ?? '')
}

/** Returns a required string field of an action. Throws PatternError `InvalidPattern` when it is missing. */
export function requiredField(action: MergedAction, key: string): string {
  const value = ownValue(action.fields, key)
  if (typeof value === 'string' && value !== '') return value
  throw new PatternError(
    'InvalidPattern',
    `action "${action.name}" of map ${action.from.map.namespace}/${action.from.map.name} has no ${key}`,
  )
}
