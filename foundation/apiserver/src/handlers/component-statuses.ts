// ComponentStatuses: what the server knows of the parts of a control plane. They are never stored.
import { asJson, notFound } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { ServerResponse } from '../http/message.ts'
import { listOptions, validateListOptions } from '../request/list-options.ts'
import { selectionOf } from '../request/selection.ts'
import { valueResponse } from '../response/response.ts'
import { transformList } from '../views/transforms.ts'
import { objectResponse } from './object-response.ts'
import type { RequestScope } from './request-scope.ts'
import type { ResourceHandlers } from './resource-handlers.ts'
import { unsupportedVerb } from './resource-route.ts'
import type { ServerDependencies } from './server-dependencies.ts'

/** The health of a part: undefined when healthy, else the problem. */
export type ComponentChecks = Readonly<Record<string, () => string | undefined>>

/** Returns the handler of ComponentStatuses. */
export function componentStatusHandlers(checks: ComponentChecks): ResourceHandlers {
  return {
    componentstatuses: async (server, scope) =>
      scope.verb === 'get' ? getComponent(server, scope, checks) : listComponents(server, scope, checks),
  }
}

function getComponent(server: ServerDependencies, scope: RequestScope, checks: ComponentChecks): ServerResponse {
  const check = Object.hasOwn(checks, scope.name) ? checks[scope.name] : undefined
  // The real server names the kind in the singular here.
  if (check === undefined) throw notFound({ group: '', plural: 'componentstatus' }, scope.name)
  return objectResponse(server, scope, 200, componentStatus(scope.name, check()))
}

function listComponents(server: ServerDependencies, scope: RequestScope, checks: ComponentChecks): ServerResponse {
  if (scope.verb === 'watch') throw unsupportedVerb(scope, 'watch')
  const { resource, query, output, subresource } = scope
  const options = listOptions(query, false)
  const selection = selectionOf(resource, options.labels, options.fields)
  validateListOptions(options)
  const { form, negotiated } = output.object(resource, subresource)
  const objects = Object.entries(checks)
    .map(([name, check]) => componentStatus(name, check()))
    .filter((object) => selection.matches(object))
  const transformed = transformList({}, negotiated.transform, resource, query, server.clock.now())
  if (transformed !== undefined) {
    const { head, field, itemOf, whenEmpty } = transformed
    return valueResponse(200, { ...head, [field]: objects.length === 0 ? whenEmpty : objects.map(itemOf) }, form)
  }
  const { definition, apiVersion } = resource
  const items = objects.map((object): JsonObject => {
    const { apiVersion: _version, kind: _kind, ...content } = asJson(object)
    return content
  })
  return valueResponse(200, { kind: definition.listKind, apiVersion, metadata: {}, items }, form)
}

function componentStatus(name: string, problem: string | undefined): KubeObject {
  const healthy = { type: 'Healthy', status: problem === undefined ? 'True' : 'False', message: problem ?? 'ok' }
  return { kind: 'ComponentStatus', apiVersion: 'v1', metadata: { name }, conditions: [healthy] }
}
