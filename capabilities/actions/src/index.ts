// The door of @fairlead/actions: the capability, its API types, and the engine for those who decide the same things offline.
export { actions } from './capability.ts'
export type { ActionsCapability, ActionsInstance } from './capability.ts'
export * from './api.ts'
export { crds } from './generated/crds.ts'

// the engine: maps, mappings, patterns, commands
export * from './engine/action-map.ts'
export * from './engine/action-error.ts'
export * from './engine/application.ts'
export * from './engine/catalog.ts'
export * from './engine/command.ts'
export * from './engine/command-line.ts'
export * from './engine/enablement.ts'
export * from './engine/inputs.ts'
export * from './engine/job.ts'
export * from './engine/lenient-json.ts'
export * from './engine/map-name.ts'
export * from './engine/mapping.ts'
export * from './engine/mapping-index.ts'
export * from './engine/merge.ts'
export * from './engine/pattern.ts'
export type * from './engine/problem.ts'
export * from './engine/resolve.ts'
export * from './engine/rule.ts'
export * from './engine/sections.ts'
export * from './engine/status-map.ts'
export * from './engine/target.ts'

// functions and snippets
export type * from './functions/cluster-reader.ts'
export { functionsFor } from './functions/functions.ts'
export { objectsReader } from './functions/objects-reader.ts'
export { Sandbox, SnippetError } from './sandbox/sandbox.ts'

// mappings within objects, checks
export * from './engine/embedded-mapping.ts'
export * from './engine/lint.ts'
export * from './engine/rule-maps.ts'

// the service
export { ActionService } from './service/action-service.ts'
export type { ActionServiceOptions, ResourceRef, RunOptions, WithMenu } from './service/action-service.ts'
export * from './service/catalog-source.ts'
export * from './service/history.ts'
export { KindTable } from './service/kind-table.ts'
export * from './service/menu.ts'
export { Rights, Rules, runRight } from './service/rights.ts'
export type { Caller, Right } from './service/rights.ts'
export * from './service/settings.ts'
export { defaultMapping, defaults } from './defaults/index.ts'

// running Jobs
export { JobRunner } from './runner/job-runner.ts'
export type { JobRunnerOptions } from './runner/job-runner.ts'
export type { RunMode } from './runner/launch.ts'
export type { LogQuery } from './runner/log-book.ts'
