// Resources as the client takes them.
import type { Kind } from '@fairlead/client'
import { kind as kindOf } from '@fairlead/client'
import type { ResolvedResource } from '../engine/resource.ts'

/** Returns the kind of a resource for the client; needs no discovery. */
export function clientKind(resource: ResolvedResource): Kind {
  return kindOf(resource.apiVersion, resource.kind, { plural: resource.plural, namespaced: resource.namespaced })
}
