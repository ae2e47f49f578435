// The routes of custom resources. The real server has one handler for all of them, which reads the path itself: it refuses in other words than the
// routes of built-in kinds, and knows HEAD.
import { badRequest, failure, formatGroupResource, notFound } from '@fairlead/kube'
import type { ServerResponse } from '../http/message.ts'
import { pathNotFound } from '../response/response.ts'
import type { ResourceCall } from './server-dependencies.ts'

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
const subresourceVerbs = ['get', 'update', 'patch']

/**
 * Whether a custom resource has the path and the verb of a call; the answer where it has no such path at all.
 * @throws StatusError 400, 404, 405
 */
export function checkCustomRoute(call: ResourceCall, verb: string): ServerResponse | undefined {
  const { definition, version } = call.resource
  if (definition.namespaced && call.namespace === '' && verb !== 'list') return pathNotFound()
  if (call.subresource !== '') {
    if (!version.subresources.some(({ name }) => name === call.subresource)) throw notFound(definition, call.name)
    if (!subresourceVerbs.includes(verb)) throw unsupported(call, verb)
    return undefined
  }
  if (!verbs.includes(verb)) throw unsupported(call, '')
  if (call.name === '' && (verb === 'update' || verb === 'patch')) throw badRequest('name must be provided')
  return undefined
}

function unsupported({ resource }: ResourceCall, verb: string): Error {
  const { group, plural } = resource.definition
  const message = `${verb} is not supported on resources of kind ${JSON.stringify(formatGroupResource({ group, plural }))}`
  return failure(405, 'MethodNotAllowed', message, { group, kind: plural })
}
