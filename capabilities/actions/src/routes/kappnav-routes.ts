// The HTTP paths of the original server below /kappnav: mapping, actions, execute, command lists, status
// (originals/kappnav.md §3.3).
import type { RouteRequest } from '@fairlead/controller'
import { asJson, formatTime } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { ActionError } from '../engine/action-error.ts'
import type { Resolution } from '../engine/catalog.ts'
import { makeTarget } from '../engine/mapping/target.ts'
import { mergedForm } from '../engine/maps/merge.ts'
import { mergedSections } from '../engine/maps/section-map.ts'
import type { ActionService } from '../runtime/action-service.ts'
import type { Caller } from '../runtime/rights.ts'
import type { ResourceRef } from '../runtime/target-reader.ts'
import { bodyOf, callerOf, patternRefused, requireMethod, requireOwnSite } from './route-request.ts'

/** Handles a request; the result is undefined for an unknown path. */
export async function handleKappnavRequest(
  service: ActionService,
  request: RouteRequest,
): Promise<JsonObject | undefined> {
  const caller = callerOf(request)
  const [root, ...path] = request.path
  switch (root) {
    case 'resource':
      return resource(service, request, caller, path)
    case 'kindactionmapping':
      return mapping(service, request, caller, path)
    case 'status': {
      const [name, kind, ...more] = path
      if (name === undefined || kind === undefined || more.length > 0) return undefined
      requireMethod(request.method, 'GET')
      return asJson(await service.status(caller, refIn(request.query, kind, name)))
    }
    default:
      return undefined
  }
}

async function resource(
  service: ActionService,
  request: RouteRequest,
  caller: Caller,
  path: readonly string[],
): Promise<JsonObject | undefined> {
  const { method, query } = request
  const [first, second] = path
  if (path.length === 1 && first === 'commands') {
    requireMethod(method, 'GET')
    return commands(service, caller, query)
  }
  if (path.length === 1 && first === 'command-time') {
    requireMethod(method, 'GET')
    return { time: formatTime(service.now()) }
  }
  if (path.length === 2 && first === 'command') {
    requireMethod(method, 'DELETE')
    requireOwnSite(request)
    await service.runs.delete(caller, query.get('namespace') ?? service.jobNamespace(), second!)
    return { deleted: second! }
  }
  if (path.length === 2) {
    if (query.has('action-pattern')) throw patternRefused()
    throw new ActionError(400, 'input-error', `incomplete path; use /resource/${first!}/${second!}/actions`)
  }
  if (path.length === 3 && path[2] === 'actions') {
    requireMethod(method, 'GET')
    return mergedForm((await service.resolve(caller, refIn(query, second!, first!))).merged)
  }
  if (path.at(-3) !== 'execute' || path.at(-2) !== 'command') return undefined
  requireMethod(method, 'POST')
  requireOwnSite(request)
  return execute(service, request, caller, path)
}

/**
 * Handles `{app}/execute/command/{cmd}` and `{app}/{component}/{kind}/execute/command/{cmd}`. The response is the first
 * Job, as in the original; `jobs` holds all of them.
 */
async function execute(
  service: ActionService,
  request: RouteRequest,
  caller: Caller,
  path: readonly string[],
): Promise<JsonObject | undefined> {
  const { query } = request
  const [app = '', component, kind] = path
  const action = path.at(-1)!
  const namespace = query.get('namespace') ?? 'default'
  const isApplication = path.length === 4
  if (!isApplication && path.length !== 6) return undefined
  const ref = isApplication
    ? { ...refIn(query, 'Application', app), apiVersion: versionIn(query) ?? 'app.k8s.io/v1beta1' }
    : refIn(query, kind!, component!)
  const application = { name: app, namespace: query.get('application-namespace') ?? namespace }
  const jobs = await service.run(caller, ref, action, { inputs: bodyOf(request), application })
  return { ...asJson(jobs[0]!), jobs: jobs.map(asJson) }
}

async function commands(service: ActionService, caller: Caller, query: URLSearchParams): Promise<JsonObject> {
  const time = query.get('time')
  const since = Date.parse(time ?? '')
  if (time !== null && Number.isNaN(since))
    throw new ActionError(
      400,
      'input-error',
      `query parameter time must be a date and time, not "${time.slice(0, 100)}"`,
    )
  const jobs = await service.runs.jobs(caller)
  const completed = jobs.filter(
    ({ status }) => Date.parse((status as { completionTime?: string } | undefined)?.completionTime ?? '') > since,
  )
  const [first] = jobs
  const actions =
    first === undefined
      ? {}
      : mergedForm((await service.resolveObject({ ...first, apiVersion: 'batch/v1', kind: 'Job' })).merged)
  return { commands: (Number.isNaN(since) ? jobs : completed).map(asJson), 'action-map': actions }
}

/** Handles the dry run for authors of maps: the candidates of a kind, or of a live resource. */
async function mapping(
  service: ActionService,
  request: RouteRequest,
  caller: Caller,
  path: readonly string[],
): Promise<JsonObject | undefined> {
  const { method, query } = request
  requireMethod(method, 'GET')
  const type = query.get('type') ?? 'actions'
  if (type !== 'actions' && type !== 'status-mapping' && type !== 'sections')
    throw new ActionError(
      400,
      'input-error',
      `type must be actions, status-mapping or sections, not "${type.slice(0, 100)}"`,
    )
  if (path.length === 3 && path[0] === 'resources')
    return mapOf(service, type, await service.resolve(caller, refIn(query, path[2]!, path[1]!)))
  const [kind, ...more] = path
  if (kind === undefined || more.length > 0) return undefined
  const owner = {
    apiVersion: query.get('owner-apiversion') ?? '',
    kind: query.get('owner-kind') ?? '',
    uid: query.get('owner-uid') ?? '',
  }
  const target = makeTarget({
    apiVersion: versionIn(query) ?? 'v1',
    kind,
    subkind: query.get('subkind') ?? '',
    name: query.get('name') ?? '',
    namespace: query.get('namespace') ?? '',
    owners: Object.values(owner).some((part) => part !== '') ? [owner] : [],
  })
  await service.authorizeMappings(caller, target.namespace)
  const resolution = await service.resolveTarget(target)
  const candidates =
    type === 'actions'
      ? resolution.candidates
      : service.catalog().candidates(target, type === 'sections' ? 'sections' : 'status').candidates
  return {
    'candidate-maps': candidates.map(({ name, namespace: where }) => `${name}@${where}`),
    map: mapOf(service, type, resolution),
  }
}

/** Returns the merged map of a type in the form of its data keys; of status maps only the first counts. */
function mapOf(
  service: ActionService,
  type: 'actions' | 'status-mapping' | 'sections',
  { target, merged }: Resolution,
): JsonObject {
  if (type === 'actions') return mergedForm(merged)
  const catalog = service.catalog()
  return type === 'sections' ? mergedSections(catalog.sectionMapsOf(target)) : asJson(catalog.statusMapOf(target) ?? {})
}

function refIn(query: URLSearchParams, kind: string, name: string): ResourceRef {
  return { apiVersion: versionIn(query), kind, namespace: query.get('namespace') ?? undefined, name }
}

/** Returns the apiVersion of a query; the original accepts both spellings. */
function versionIn(query: URLSearchParams): string | undefined {
  const version = query.get('apiVersion') ?? query.get('apiversion') ?? undefined
  return version === 'default' ? undefined : version
}
