// `fairlead metacontroller render`: the writes that controllers would make for the objects of some files, with their
// reasons.
import { systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import { SelectorError } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { PlanFormat } from '@fairlead/offline'
import {
  CommandError,
  KindCatalog,
  ManifestError,
  UnknownKindError,
  exitCode,
  formatPlan,
  hostAddresses,
  usageError,
} from '@fairlead/offline'
import type { MapController } from '../api.ts'
import { ExpressionError } from '../hook/expression.ts'
import { InvalidHookError } from '../hook/make-hooks.ts'
import { readMapManifests } from '../offline/manifests.ts'
import { parentPlan } from '../offline/plans.ts'
import type { RenderedParent } from '../offline/rendering.ts'
import { renderController } from '../offline/rendering.ts'
import { syncPlan } from '../offline/sync-plans.ts'
import type { RenderedSync } from '../offline/sync-rendering.ts'
import { renderSync } from '../offline/sync-rendering.ts'
import { SpecError } from '../engine/spec-error.ts'
import { offlineHooks, offlineSyncHooks, withHookAt } from './offline-hooks.ts'

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
  const { objects, controllers, syncControllers } = await readMapManifests(filename, context.stdin)
  if (controllers.length + syncControllers.length === 0)
    throw new CommandError(
      `There is no MapController, CompositeController or DecoratorController in ${filename.join(', ')}`,
    )
  const addresses = hostAddresses(resolve)
  const catalog = new KindCatalog(objects)
  const parents: RenderedParent[] = []
  for (const { file, line, controller: given } of controllers) {
    const controller = hook === undefined ? given : withHookAt(given, hook)
    const { signal } = context
    try {
      await using hooks = offlineHooks(controller, addresses)
      parents.push(...(await renderController({ controller, objects, catalog, hooks, now: systemClock.now(), signal })))
    } catch (error) {
      if (!(error instanceof ExpressionError || error instanceof SelectorError || error instanceof UnknownKindError))
        throw error
      const problem = `MapController ${controller.metadata.name ?? ''}: ${error.message}`
      throw new ManifestError(file, line, problem, { cause: error })
    }
  }
  const synced: RenderedSync[] = []
  for (const { file, line, controller } of syncControllers) {
    try {
      await using hooks = offlineSyncHooks(controller, addresses, hook)
      synced.push(...(await renderSync({ controller, objects, catalog, hooks, signal: context.signal })))
    } catch (error) {
      const isUsers = [SelectorError, UnknownKindError, SpecError, InvalidHookError].some((one) => error instanceof one)
      if (!isUsers) throw error
      const problem = `${controller.kind} ${controller.metadata.name ?? ''}: ${(error as Error).message}`
      throw new ManifestError(file, line, problem, { cause: error })
    }
  }
  for (const line of scopeNotes(controllers, objects, catalog)) context.err(line)
  context.out(formatPlan([...parents.map(parentPlan), ...synced.map(syncPlan)], output))
  return parents.some(hasFailed) || synced.some(({ error }) => error !== undefined) ? exitCode.error : exitCode.ok
}

/** Returns a line for each kind of parents that could as well be cluster-scoped. */
function scopeNotes(
  controllers: readonly { readonly controller: MapController }[],
  objects: readonly KubeObject[],
  catalog: KindCatalog,
): readonly string[] {
  const parents = controllers.map(({ controller: { spec } }) => spec.parentResource)
  const isParent = (object: KubeObject): boolean =>
    parents.some(
      ({ apiVersion, resource }) => apiVersion === object.apiVersion && resource === catalog.byKind(object).plural,
    )
  const guessed = objects.filter((object) => catalog.isScopeGuessed(object) && isParent(object))
  return Array.from(
    new Set(guessed.map(({ apiVersion, kind }) => `${kind} (${apiVersion})`)),
    (name) =>
      `note: the scope of ${name} is not known and taken for namespaced: add its CustomResourceDefinition with -f`,
  )
}

function hasFailed({ problem, groups }: RenderedParent): boolean {
  return (
    problem !== undefined ||
    groups.some(({ error, plan }) => error !== undefined || plan.some(({ op }) => op === 'refuse'))
  )
}
