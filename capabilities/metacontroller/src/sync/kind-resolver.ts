// Looking up the kinds that a spec names: by discovery in a cluster, from files in commands.
import type { ChildKind, ChildMethod, StatusCheck } from '../children/child.ts'
import type { ResourceName } from '../engine/kinds.ts'
import type { IgnoredChanges, ResolvedResource } from '../engine/resource.ts'
import type { ParentKind } from './flavour.ts'

/** `updateStrategy` of a child resource. */
export interface ChildStrategy {
  readonly method?: ChildMethod
  readonly statusChecks?: { readonly conditions?: readonly StatusCheck[] }
}

/** A kind of children as a spec names it. */
export interface ChildName extends ResourceName, IgnoredChanges, Pick<ChildKind, 'ownership' | 'deletionPolicy'> {
  readonly updateStrategy?: ChildStrategy
}

/** Looks up the kinds that a spec names. Throws ClientError or UnknownKindError for kinds that are not known. */
export interface KindResolver {
  parent(name: ResourceName & { readonly ignoreStatusChanges?: boolean }): Promise<ParentKind>
  child(name: ChildName): Promise<ChildKind>
}

/** Returns a child kind as its spec has it; its method is OnDelete when it has none. */
export function childKindOf(resource: ResolvedResource, name: Omit<ChildName, keyof ResourceName>): ChildKind {
  const {
    updateStrategy: { method = 'OnDelete', statusChecks } = {},
    ownership = 'Controller',
    deletionPolicy = 'Delete',
    ...changes
  } = name
  return { ...resource, method, statusChecks: statusChecks?.conditions ?? [], ownership, deletionPolicy, changes }
}
