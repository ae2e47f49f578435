// The door of @fairlead/map: the capability, its API types, and the engine for those who decide the same things offline.
export type * from './api.ts'
export { map } from './capability.ts'
export { crds } from './generated/crds.ts'

// the controller
export { MapControllers, mapControllerKind } from './controllers/map-controller.ts'
export type { MapControllerObject } from './controllers/map-controller.ts'
export type { FailingGroup, GroupRef } from './runtime/group-state.ts'
export type { MapRun, RunState } from './runtime/map-run.ts'

// the engine: decisions as pure functions
export * from './engine/response.ts'
export * from './engine/configuration.ts'
export * from './engine/group.ts'
export * from './engine/identity.ts'
export * from './engine/input.ts'
export * from './engine/map-key.ts'
export * from './engine/plan.ts'
export * from './engine/request.ts'
export * from './engine/resource.ts'
export * from './engine/resync.ts'
export * from './engine/status.ts'
export * from './engine/tag.ts'
export * from './engine/trigger.ts'
export * from './engine/selection.ts'
export * from './engine/output-index.ts'
export * from './engine/grants.ts'

// offline
export { rehearse } from './offline/rendering.ts'
export type { Rehearsed, RehearsedParent, RehearsalOptions } from './offline/rendering.ts'
