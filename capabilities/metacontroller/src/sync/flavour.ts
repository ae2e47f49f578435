// The differences between CompositeControllers and DecoratorControllers. Pure; sync-run.ts carries them out.
import type { JsonObject, KubeObject, Selector } from '@fairlead/kube'
import type { HookVersion } from '../api.ts'
import type { Child, ChildKind } from '../children/child.ts'
import type { Candidates, Claims } from '../children/claims.ts'
import type { ObjectsOfKind } from '../engine/request.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import type { ResponseBody } from '../engine/response.ts'
import type { RevisionRules } from '../revisions/revision.ts'
import type { SyncResponse } from './response.ts'

/** A kind of parents. */
export interface ParentKind extends ResolvedResource {
  readonly ignoreStatusChanges: boolean
  readonly hasStatusSubresource: boolean
}

/** The content of a sync or finalize request. */
export interface SyncFacts {
  readonly controller: KubeObject
  readonly parent: KubeObject
  readonly children: readonly Child[]
  readonly related: readonly ObjectsOfKind[]
  readonly finalizing: boolean
  readonly version: HookVersion
}

/** The changes of a parent that a response asks for; undefined fields stay. */
export interface ParentChange {
  readonly status: JsonObject | undefined
  readonly labels: Readonly<Record<string, string | null>>
  readonly annotations: Readonly<Record<string, string | null>>
}

/** One controller, as its kind defines it. */
export interface Flavour {
  readonly controllerType: 'CompositeController' | 'DecoratorController'
  /** `metacontroller.io/compositecontroller-<name>` or `…/decoratorcontroller-<name>`. */
  readonly finalizer: string
  readonly parents: readonly ParentKind[]
  readonly children: readonly ChildKind[]
  /** Undefined when no child kind has a rolling update method. */
  readonly revisions: RevisionRules | undefined
  /** Orphans are adopted. */
  readonly adopts: boolean
  /**
   * A parent is written after its children. When it is being deleted and is finalized, they are left to the garbage
   * collector.
   */
  readonly writesParentLast: boolean
  /** Returns whether the controller is meant for an object of one of its parent kinds. */
  selects(parent: KubeObject): boolean
  /** Returns the selector of the orphans that a parent adopts; undefined when it adopts none. */
  adoptionSelector(parent: KubeObject): Selector | undefined
  /** Throws SelectorError when the parent's selector is invalid: nothing is deleted then. */
  claim(parent: KubeObject, candidates: Candidates): Claims
  request(facts: SyncFacts): JsonObject
  /** Throws ResponseError. */
  readResponse(
    body: ResponseBody,
    context: { readonly hook: 'sync' | 'finalize'; readonly parent: KubeObject; readonly strict: boolean },
  ): SyncResponse
  /** Returns the desired children with what the controller adds. Throws ResponseError for one that cannot be owned. */
  prepare(parent: KubeObject, children: readonly Child[]): readonly Child[]
  /** Returns the change of the parent. */
  parentChange(parent: KubeObject, response: SyncResponse): ParentChange
}
