// Looking up the kinds that a spec names: by discovery in a cluster, from files in commands.
import type { ChildKind, ChildMethod, StatusCheck } from '../children/child.ts'
import type { ResourceName } from '../engine/kinds.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import type { ParentKind } from './flavour.ts'

/** `updateStrategy` of a child resource. */
export interface ChildStrategy {
  readonly method?: ChildMethod
  readonly statusChecks?: { readonly conditions?: readonly StatusCheck[] }
}

/** Looks up the kinds that a spec names. Throws ClientError or UnknownKindError for kinds that are not known. */
export interface KindResolver {
  parent(name: ResourceName & { readonly ignoreStatusChanges?: boolean }): Promise<ParentKind>
  child(name: ResourceName & { readonly updateStrategy?: ChildStrategy }): Promise<ChildKind>
}

/** Returns a child kind with the update method of its spec; OnDelete when it has none. */
export function childKindOf(resource: ResolvedResource, strategy: ChildStrategy = {}): ChildKind {
  const { method = 'OnDelete', statusChecks } = strategy
  return { ...resource, method, statusChecks: statusChecks?.conditions ?? [] }
}
