// `fairlead map render`: what map controllers would do with the objects of some files, and why.
import type { CommandContext } from '@fairlead/controller'
import { systemClock } from '@fairlead/client'
import { SelectorError, stringifyJson } from '@fairlead/kube'
import { ExpressionError } from '../hook/expression.ts'
import { UnknownKindError } from '../offline/catalog.ts'
import { DocumentError, mapControllersOf, readDocuments } from '../offline/documents.ts'
import type { RehearsedParent } from '../offline/rendering.ts'
import { rehearse } from '../offline/rendering.ts'
import { offlineHooks, resolveTable, withHookAt } from './offline-hooks.ts'
import { planJson, planText, planYaml } from './plan-text.ts'

/** Prints the plan of every group; exit code 1 when a hook failed or something was refused. */
export async function run(context: CommandContext): Promise<number> {
  const {
    filename,
    hook,
    resolve,
    output = 'text',
  } = context.options as { filename?: readonly string[]; hook?: string; resolve?: readonly string[]; output?: string }
  if (filename === undefined || filename.length === 0 || !['text', 'yaml', 'json'].includes(output)) {
    context.err(
      filename === undefined || filename.length === 0
        ? 'Name the files: -f controller.yaml -f objects.yaml'
        : `There is no output format ${output}; there are text, yaml and json`,
    )
    return 2
  }
  try {
    const objects = await readDocuments(filename, context.stdin)
    const controllers = mapControllersOf(objects)
    if (controllers.length === 0) {
      context.err(`There is no MapController in ${filename.join(', ')}`)
      return 1
    }
    const parents: RehearsedParent[] = []
    for (const given of controllers) {
      const controller = hook === undefined ? given : withHookAt(given, hook)
      await using hooks = offlineHooks(controller, resolveTable(resolve ?? []))
      parents.push(...(await rehearse({ controller, objects, hooks, now: systemClock.now(), signal: context.signal })))
    }
    context.out(
      output === 'yaml' ? planYaml(parents) : output === 'json' ? stringifyJson(planJson(parents)) : planText(parents),
    )
    return parents.some(isTroubled) ? 1 : 0
  } catch (error) {
    if (!isMistake(error)) throw error
    context.err(error.message)
    return 1
  }
}

function isTroubled({ problem, groups }: RehearsedParent): boolean {
  return (
    problem !== undefined ||
    groups.some(({ error, plan }) => error !== undefined || plan.some(({ op }) => op === 'refuse'))
  )
}

function isMistake(error: unknown): error is Error {
  return [DocumentError, UnknownKindError, ExpressionError, SelectorError].some((type) => error instanceof type)
}
