// `fairlead map render`: the writes that map controllers would make for the objects of some files, with their reasons.
import { systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { SelectorError } from '@fairlead/kube'
import type { PlanFormat } from '@fairlead/offline'
import {
  CommandError,
  KindCatalog,
  ManifestError,
  UnknownKindError,
  exitCode,
  formatPlan,
  usageError,
} from '@fairlead/offline'
import { ExpressionError } from '../hook/expression.ts'
import { readMapManifests } from '../offline/manifests.ts'
import { parentPlan } from '../offline/plans.ts'
import type { RenderedParent } from '../offline/rendering.ts'
import { renderController } from '../offline/rendering.ts'
import { offlineHooks, resolveTable, withHookAt } from './offline-hooks.ts'

interface Options {
  readonly filename: readonly string[]
  readonly hook: string | undefined
  readonly resolve: readonly string[]
  readonly output: PlanFormat
}

/** Prints the plan of every group; exit code 1 when a hook failed or a name was refused. */
export async function run(context: CommandContext<Options, unknown>): Promise<number> {
  const { filename, hook, resolve, output } = context.options
  if (filename.length === 0) throw usageError('Name the files: -f controller.yaml -f objects.yaml')
  const { objects, controllers } = await readMapManifests(filename, context.stdin)
  if (controllers.length === 0) throw new CommandError(`There is no MapController in ${filename.join(', ')}`)
  const catalog = new KindCatalog(objects)
  const parents: RenderedParent[] = []
  for (const { file, line, controller: given } of controllers) {
    const controller = hook === undefined ? given : withHookAt(given, hook)
    const { signal } = context
    try {
      await using hooks = offlineHooks(controller, resolveTable(resolve))
      parents.push(...(await renderController({ controller, objects, catalog, hooks, now: systemClock.now(), signal })))
    } catch (error) {
      if (!(error instanceof ExpressionError || error instanceof SelectorError || error instanceof UnknownKindError))
        throw error
      const problem = `MapController ${controller.metadata.name ?? ''}: ${error.message}`
      throw new ManifestError(file, line, problem, { cause: error })
    }
  }
  context.out(formatPlan(parents.map(parentPlan), output))
  return parents.some(hasFailed) ? exitCode.error : exitCode.ok
}

function hasFailed({ problem, groups }: RenderedParent): boolean {
  return (
    problem !== undefined ||
    groups.some(({ error, plan }) => error !== undefined || plan.some(({ op }) => op === 'refuse'))
  )
}
