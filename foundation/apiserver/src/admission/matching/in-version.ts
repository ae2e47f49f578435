// Conversion of the objects of a request to another version of its resource.
import type { KubeObject } from '@fairlead/kube'
import type { ServedResource } from '../../registry/registry.ts'
import { convert } from '../../views/views.ts'
import type { AdmissionAttributes } from '../attributes.ts'

/**
 * Returns the request with its objects in the version of `as`; the same request when they are.
 * @throws StatusError when a conversion webhook fails
 */
export async function inVersion(request: AdmissionAttributes, as: ServedResource): Promise<AdmissionAttributes> {
  const states = [request.object, request.oldObject]
  // Subresources of another kind, such as Scale, are the same in every version of their resource.
  if (states.every((state) => state === undefined || state.apiVersion !== request.resource.apiVersion)) return request
  if (as.apiVersion === request.resource.apiVersion) return request
  const converted = await convert(
    states.filter((state) => state !== undefined),
    as,
  )
  const left = [...converted]
  const [object, oldObject] = states.map((state): KubeObject | undefined =>
    state === undefined ? undefined : left.shift(),
  )
  return { ...request, object, oldObject }
}
