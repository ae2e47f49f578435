// Public API of @fairlead/metacontroller: the capability, its API types, and decisions for callers without a cluster.
export type * from './api.ts'
export { metacontroller } from './capability.ts'
export { crds } from './generated/crds.ts'

// the controllers
export { compositeControllerKind, compositeControllers } from './composite/composite-controllers.ts'
export type { CompositeControllerObject } from './composite/composite-controllers.ts'
export { decoratorControllerKind, decoratorControllers } from './decorator/decorator-controllers.ts'
export type { DecoratorControllerObject } from './decorator/decorator-controllers.ts'
export { callServices } from './hook/call-services.ts'
export type { CallServices } from './hook/call-services.ts'
export { parseSettings } from './sync/settings.ts'
export type { SyncSettings } from './sync/settings.ts'
export type { SyncControllers } from './sync/sync-controllers.ts'
export { MapControllers, mapControllerKind } from './controllers/map-controller.ts'
export type { MapControllerObject } from './controllers/map-controller.ts'
export type { FailingGroup, GroupRef } from './runtime/group-state.ts'
export type { MapRun, RunState } from './runtime/map-run.ts'

// groups, their keys and tags
export { formatIdentity, identityOf, parseIdentity } from './engine/identity.ts'
export type { Identity } from './engine/identity.ts'
export { mapKeyOf } from './engine/map-key.ts'
export { inputAnnotation, mapKeyLabel, tagAnnotations, tagLabels, tagOf } from './engine/tag.ts'
export type { Tag } from './engine/tag.ts'
export { configurationOf, outputManager } from './engine/configuration.ts'
export { outputKind } from './engine/resource.ts'
export { clusterRoleFor } from './engine/grants.ts'

// decisions
export { decideGroup } from './engine/decide-group.ts'
export type { CallContext, Decision, Warning } from './engine/decide-group.ts'
export type { Cluster } from './engine/cluster.ts'
export type { Group, Step } from './engine/group.ts'
export type { Hook, HookCall, HookName, Hooks } from './engine/hook.ts'
export type { Action, Plan } from './engine/plan.ts'
export { renderController } from './offline/rendering.ts'
export type { RenderedGroup, RenderedParent, RenderOptions } from './offline/rendering.ts'

// cases
export { parseRef, refOf } from './offline/map-case.ts'
export type {
  CaseController,
  CaseHooks,
  CaseOutput,
  CaseResource,
  CaseResponse,
  CaseTrigger,
  MapCase,
  MapCaseInput,
  MapCaseWant,
  NamedHooksSpec,
  WantedRequest,
  WantedWrite,
} from './offline/map-case.ts'
