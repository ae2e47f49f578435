// HTTP endpoints: /api/actions (specs/actions.md §4), and the paths of the original (originals/kappnav.md §3.3).
import type { Route, RouteRequest, RouteResponse } from '@fairlead/controller'
import { StatusError, asJson, isJsonObject, ownValue, setOwn } from '@fairlead/kube'
import type { JsonObject, JsonValue, MutableJsonObject } from '@fairlead/kube'
import { ActionError, asActionError } from '../engine/action-error.ts'
import { mergedForm } from '../engine/maps/merge.ts'
import { sharedMenus } from '../engine/shared-menus.ts'
import type { ActionService } from '../runtime/action-service.ts'
import type { WithMenu } from '../runtime/application-menus.ts'
import { handleKappnavRequest } from './kappnav-routes.ts'
import { bodyOf, callerOf, refOf, requireMethod, requireOwnSite, required } from './route-request.ts'

/** Returns the routes of a service. */
export function actionRoutes(service: ActionService): readonly Route[] {
  return [
    { prefix: '/api/actions', handle: (request) => respond(() => handleRequest(service, request)) },
    { prefix: '/kappnav', handle: (request) => respond(() => handleKappnavRequest(service, request)) },
  ]
}

async function handleRequest(service: ActionService, request: RouteRequest): Promise<JsonObject | undefined> {
  const { method, path, query } = request
  const caller = callerOf(request)
  const [first, second, ...rest] = path
  if (rest.length > 0) return undefined
  if (first === undefined) {
    requireMethod(method, 'GET')
    return asJson(
      query.get('why') === 'true' ? await service.why(caller, refOf(query)) : await service.menu(caller, refOf(query)),
    )
  }
  if (second === undefined) return handleCollection(service, request, first)
  if (second === 'url') {
    requireMethod(method, 'GET')
    return asJson(await service.url(caller, refOf(query), first, inputsOf(query)))
  }
  if (second === 'form') {
    requireMethod(method, 'GET')
    const form = await service.form(caller, refOf(query), first)
    return asJson({ action: first, ...(form === undefined ? {} : { form }) })
  }
  if (second === 'run') {
    requireMethod(method, 'POST')
    requireOwnSite(request)
    const body = bodyOf(request)
    const jobs = await service.run(caller, refOf(query), first, {
      inputs: ownValue(body, 'inputs'),
      application: applicationOf(ownValue(body, 'application')),
      dryRun: query.get('dryRun') === 'All',
    })
    return { jobs: jobs.map(asJson) }
  }
  return undefined
}

/**
 * Handles the paths beside the actions: `history`, `outcome`, `logs`, `merged`, `status`, `sections`, `applications`,
 * `components`.
 */
async function handleCollection(
  service: ActionService,
  request: RouteRequest,
  name: string,
): Promise<JsonObject | undefined> {
  const { method, query } = request
  const caller = callerOf(request)
  const optional = (key: string): string | undefined => query.get(key) ?? undefined
  switch (name) {
    case 'history':
      requireMethod(method, 'GET')
      return asJson({
        runs: await service.runs.list(caller, {
          kind: optional('kind'),
          namespace: optional('namespace'),
          name: optional('name'),
          action: optional('action'),
          user: optional('user'),
          limit: query.has('limit') ? countOf(query, 'limit') : undefined,
        }),
      })
    case 'logs':
      requireMethod(method, 'GET')
      return asJson({ logs: await service.runs.logs(caller, required(query, 'namespace'), required(query, 'job')) })
    case 'outcome': {
      requireMethod(method, 'GET')
      const wait = Math.min(countOf(query, 'wait'), longestWait)
      return asJson(
        await service.runs.outcome(caller, required(query, 'namespace'), required(query, 'job'), wait * 1000),
      )
    }
    case 'merged':
      requireMethod(method, 'GET')
      return mergedForm((await service.resolve(caller, refOf(query))).merged)
    case 'status':
      requireMethod(method, 'GET')
      return asJson(await service.status(caller, refOf(query)))
    case 'sections':
      requireMethod(method, 'GET')
      return asJson({ sections: await service.sections(caller, refOf(query)) })
    case 'applications':
      requireMethod(method, 'GET')
      return menusOf(query, 'applications', await service.applications.list(caller, optional('namespace')))
    case 'components': {
      requireMethod(method, 'GET')
      const { components, unknown } = await service.applications.components(caller, {
        namespace: query.get('namespace') ?? 'default',
        name: required(query, 'name'),
      })
      return { ...menusOf(query, 'components', components), unknown }
    }
    default:
      return undefined
  }
}

/** Returns menus under a name, in the form that the query asks for: whole, or with shared items. */
function menusOf(query: URLSearchParams, name: string, whole: readonly WithMenu[]): JsonObject {
  const form = query.get('form')
  if (form === null) return { [name]: whole.map(asJson) }
  if (form !== 'shared')
    throw new ActionError(400, 'input-error', `query parameter form must be "shared", not "${form}"`)
  const { items, menus } = sharedMenus(whole)
  return { items: items.map(asJson), [name]: menus.map(asJson) }
}

/** Runs a handler. Errors that callers can cause become responses; others are left to the server. */
async function respond(run: () => Promise<JsonObject | undefined>): Promise<RouteResponse | undefined> {
  try {
    const body = await run()
    return body && { status: 200, body }
  } catch (error) {
    if (error instanceof StatusError && error.code >= 500) throw error
    const actionError = asActionError(error)
    if (actionError === undefined) throw error
    return { status: actionError.status, body: failureOf(actionError) }
  }
}

/** Returns a Status, as every client of Kubernetes reads it, with the original's error word added. */
function failureOf({ status, message, kind, field, cause }: ActionError): JsonObject {
  const reason = cause instanceof StatusError ? cause.reason : (reasons[status] ?? 'InternalError')
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code: status,
    error: kind,
    ...(field === undefined ? {} : { field }),
  }
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  503: 'ServiceUnavailable',
}

/** Prefix of the query parameters with the inputs of a url action. */
const inputPrefix = 'input.'

/** Returns the inputs in a query: `input.FIELD=value`. */
function inputsOf(query: URLSearchParams): JsonObject {
  const inputs: MutableJsonObject = {}
  for (const [key, value] of query)
    if (key.startsWith(inputPrefix)) setOwn(inputs, key.slice(inputPrefix.length), value)
  return inputs
}

/** Longest wait of one request, seconds: clients ask again. */
const longestWait = 60

/** Returns a whole number of a query. Throws ActionError 400. */
function countOf(query: URLSearchParams, key: string): number {
  const value = query.get(key) ?? '0'
  if (/^\d{1,9}$/.test(value)) return Number(value)
  throw new ActionError(400, 'input-error', `query parameter ${key} must be a whole number`)
}

function applicationOf(
  value: JsonValue | undefined,
): { readonly name: string; readonly namespace: string } | undefined {
  if (value === undefined || value === null) return undefined
  const name = isJsonObject(value) ? ownValue(value, 'name') : undefined
  const namespace = isJsonObject(value) ? (ownValue(value, 'namespace') ?? 'default') : undefined
  if (typeof name !== 'string' || typeof namespace !== 'string')
    throw new ActionError(422, 'validation-error', 'application must be an object with name and namespace')
  return { name, namespace }
}
