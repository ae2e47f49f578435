// The door of @fairlead/actions: the capability, its API types, and the engine for those who decide the same things offline.
export { actions } from './capability.ts'
export type { ActionsCapability, ActionsInstance } from './capability.ts'
export * from './api.ts'
export { crds } from './generated/crds.ts'

// the engine: maps, mappings, patterns, commands
export * from './engine/maps/action-map.ts'
export * from './engine/action-error.ts'
export * from './engine/application.ts'
export * from './engine/catalog.ts'
export * from './engine/runs/command.ts'
export * from './engine/runs/command-line.ts'
export * from './engine/enablement.ts'
export * from './engine/runs/inputs.ts'
export * from './engine/runs/job.ts'
export * from './engine/data/lenient-json.ts'
export * from './engine/mapping/map-name.ts'
export * from './engine/mapping/mapping.ts'
export * from './engine/mapping/mapping-index.ts'
export * from './engine/maps/merge.ts'
export * from './engine/patterns/pattern.ts'
export type * from './engine/data/problem.ts'
export * from './engine/patterns/pattern-resolver.ts'
export * from './engine/mapping/rule.ts'
export * from './engine/maps/section-map.ts'
export * from './engine/maps/status-map.ts'
export * from './engine/mapping/target.ts'

// functions and snippets
export type * from './engine/cluster.ts'
export { functionsFor } from './engine/functions.ts'
export { objectsReader } from './offline/file-cluster.ts'
export { Sandbox, SnippetError } from './sandbox/sandbox.ts'

// mappings within objects, checks
export * from './engine/embedded-mapping.ts'
export * from './engine/map-problems.ts'
export * from './engine/mapping/rule-maps.ts'

// the service
export { ActionService } from './runtime/action-service.ts'
export type { ActionServiceOptions, ResourceRef, RunOptions, WithMenu } from './runtime/action-service.ts'
export * from './runtime/live-catalog.ts'
export * from './engine/runs/run.ts'
export { KindTable } from './runtime/kind-table.ts'
export * from './engine/menu.ts'
export { Rights, Rules, runRight } from './runtime/rights.ts'
export type { Caller, Right } from './runtime/rights.ts'
export * from './engine/runs/settings.ts'
export { defaultMapping, defaults } from './defaults/default-objects.ts'

// running Jobs
export { JobRunner } from './runner/job-runner.ts'
export type { JobRunnerOptions } from './runner/job-runner.ts'
export type { RunMode } from './runner/launch.ts'
export type { LogQuery } from './runner/pod-logs.ts'
