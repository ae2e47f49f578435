// The routes of resources: which verbs a path has, and which media types its route takes. The real server has a route
// per verb and path for built-in kinds; one handler for all custom resources reads the path itself, refuses in other
// words, and serves HEAD.
import { badRequest, failure, formatGroupResource, methodNotAllowed, notFound, resourceNotFound } from '@fairlead/kube'
import type { ServerResponse } from '../http/message.ts'
import { pathNotFound } from '../response/response.ts'
import { originRules } from '../objects/origin-rules.ts'
import type { OriginRules } from '../objects/origin-rules.ts'
import { patchTypeOf } from './patch.ts'
import type { RequestScope } from './request-scope.ts'

const verbs = ['get', 'list', 'create', 'update', 'patch', 'delete', 'deletecollection']
const namedVerbs = ['get', 'update', 'patch', 'delete']
const customSubresourceVerbs = ['get', 'update', 'patch']

/**
 * Checks that the path has the verb of a request. Returns the response of a path that does not exist at all.
 * @throws StatusError 400, 404, 405
 */
export function checkRoute(scope: RequestScope): ServerResponse | undefined {
  // Watches share the route of lists.
  const verb = scope.verb === 'watch' ? 'list' : scope.verb
  if (!originRules(scope.resource.definition).hasRoutePerVerb) return checkSharedRoute(scope, verb)
  checkRoutePerVerb(scope, verb)
  return undefined
}

/** Checks what the route consumes and produces, before the serializers negotiate. @throws StatusError 406, 415 */
export function checkRouteTypes(scope: RequestScope): void {
  const rules = originRules(scope.resource.definition)
  if (scope.verb === 'patch' && !rules.patchTypes.includes(patchTypeOf(scope))) throw unsupportedPatch(rules)
  if (rules.checksRouteTypes) scope.output.checkRoute(scope.verb === 'list' || scope.verb === 'watch')
}

/** Returns the 405 of a verb that a resource does not have. */
export function unsupportedVerb({ resource }: RequestScope, verb: string): Error {
  const { group, plural } = resource.definition
  const message = `${verb} is not supported on resources of kind ${JSON.stringify(formatGroupResource({ group, plural }))}`
  return failure(405, 'MethodNotAllowed', message, { ...(group === '' ? {} : { group }), kind: plural })
}

function checkRoutePerVerb(scope: RequestScope, verb: string): void {
  const { version } = scope.resource
  const isCollection = scope.name === ''
  const isHead = scope.method === 'HEAD'
  if (scope.subresource !== '') {
    const subresource = version.subresources.find(({ name }) => name === scope.subresource)
    if (subresource === undefined) throw resourceNotFound()
    if (!subresource.verbs.includes(verb) || isHead) throw methodNotAllowed()
    return
  }
  // A path that no verb of the resource has is no route: those of what can be created alone, in all namespaces or
  // named.
  const ownVerbs = isCollection ? (isEverywhere(scope) ? ['list'] : verbs) : namedVerbs
  if (!version.verbs.some((own) => ownVerbs.includes(own))) throw resourceNotFound()
  if (isHead || !verbs.includes(verb)) throw methodNotAllowed()
  if (isCollection === namedVerbs.includes(verb)) throw methodNotAllowed()
  if (isEverywhere(scope) && verb !== 'list') throw isCollection ? methodNotAllowed() : resourceNotFound()
  if (!version.verbs.includes(verb)) throw methodNotAllowed()
}

/** Reports whether a path is that of a namespaced resource in all namespaces. */
function isEverywhere({ resource: { definition }, namespace }: RequestScope): boolean {
  return definition.namespaced && namespace === ''
}

function checkSharedRoute(scope: RequestScope, verb: string): ServerResponse | undefined {
  const { definition, version } = scope.resource
  if (isEverywhere(scope) && verb !== 'list') return pathNotFound()
  if (scope.subresource !== '') {
    if (!version.subresources.some(({ name }) => name === scope.subresource)) throw notFound(definition, scope.name)
    if (!customSubresourceVerbs.includes(verb)) throw unsupportedVerb(scope, verb)
    return undefined
  }
  if (!verbs.includes(verb)) throw unsupportedVerb(scope, '')
  if (scope.name === '' && (verb === 'update' || verb === 'patch')) throw badRequest('name must be provided')
  return undefined
}

function unsupportedPatch({ checksRouteTypes, patchTypes }: OriginRules): Error {
  if (checksRouteTypes) return failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  const message = `the body of the request was in an unknown format - accepted media types include: ${patchTypes.join(', ')}`
  return failure(415, 'UnsupportedMediaType', message)
}
