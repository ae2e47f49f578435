// The response that carries one object, transformed as the client requested.
import type { KubeObject } from '@fairlead/kube'
import type { ServerResponse } from '../http/message.ts'
import { valueResponse, viewResponse } from '../response/response.ts'
import { transformObject } from '../views/transforms.ts'
import type { View } from '../views/views.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'

/**
 * Returns a response with one object; `view` is the view behind it, where it is stored. @throws StatusError 400, 406
 */
export function objectResponse(
  { clock }: ServerDependencies,
  { output, resource, subresource, query }: RequestScope,
  status: number,
  object: KubeObject,
  view?: View,
): ServerResponse {
  const { form, negotiated } = output.object(resource, subresource)
  if (negotiated.transform === undefined && view !== undefined) return viewResponse(status, view, form)
  const transformed = transformObject(object, negotiated.transform, resource, query, clock.now())
  return valueResponse(status, transformed, form)
}
