// Public API of @fairlead/actions: the capability, its API types, and the engine for callers that decide offline.
export { actions } from './capability.ts'
export type { ActionsCapability, ActionsInstance } from './capability.ts'
export { apiGroup, apiVersion, kindActionMapping } from './api.ts'
export type {
  KindActionMapping,
  KindActionMappingObject,
  KindActionMappingSpec,
  KindActionMappingStatus,
  MappingRule,
} from './api.ts'
export { crds } from './generated/crds.ts'
export { defaults } from './defaults/default-objects.ts'

// menus and runs for callers in the same process
export type { ActionService, ActionUrl, RunOptions } from './runtime/action-service.ts'
export type { ApplicationMenus, Components, WithMenu } from './runtime/application-menus.ts'
export type { PodLog, RunHistory } from './runtime/run-history.ts'
export type { ResourceRef } from './runtime/target-reader.ts'
export type { Caller } from './runtime/rights.ts'
export { LiveCatalog } from './runtime/live-catalog.ts'

// the engine: from mappings and maps to a menu
export { Catalog } from './engine/catalog.ts'
export type { CatalogSource, FindMap, MappingObject, Resolution } from './engine/catalog.ts'
export type { MapObject } from './engine/data/map-data.ts'
export { LenientJsonError, parseLenientJson } from './engine/data/lenient-json.ts'
export type { LenientJson } from './engine/data/lenient-json.ts'
export type { Problem, ProblemCode } from './engine/data/problem.ts'
export { parseMapping } from './engine/mapping/mapping.ts'
export type { Mapping, MapType } from './engine/mapping/mapping.ts'
export { MappingIndex } from './engine/mapping/mapping-index.ts'
export type { Candidate, Candidates } from './engine/mapping/mapping-index.ts'
export { makeTarget, targetOf } from './engine/mapping/target.ts'
export type { Target } from './engine/mapping/target.ts'
export { actionsFrom, parseActionMap } from './engine/maps/action-map.ts'
export type { Action, ActionMap, ActionType, PartType } from './engine/maps/action-map.ts'
export { findAction, mergeMaps, mergedForm } from './engine/maps/merge.ts'
export type { FoundMap, MergedAction, MergedMap } from './engine/maps/merge.ts'
export { parseSectionMap, sectionsOf } from './engine/maps/section-map.ts'
export type { Section, SectionMap } from './engine/maps/section-map.ts'
export { evaluateStatus, findStatusMap, parseStatusMap } from './engine/maps/status-map.ts'
export type { ResourceStatus, StatusMap } from './engine/maps/status-map.ts'
export { enablementOf } from './engine/enablement.ts'
export type { Enablement } from './engine/enablement.ts'
export { selectsComponent } from './engine/application.ts'
export { lintActionMap, mapProblems } from './engine/map-problems.ts'
export { menuOf, whyOf } from './engine/menu.ts'
export type { MayUse, Menu, MenuItem, Why, WhyCandidate } from './engine/menu.ts'

// the engine: from an action to an address or to Jobs
export { PatternError } from './engine/patterns/pattern.ts'
export type { PatternErrorCode } from './engine/patterns/pattern.ts'
export { PatternResolver } from './engine/patterns/pattern-resolver.ts'
export type { CallFunction, PatternScope, Resolved } from './engine/patterns/pattern-resolver.ts'
export type { RunSnippet } from './engine/maps/snippet.ts'
export { functionsFor } from './engine/functions.ts'
export type { Cluster, ListScope, ResourceKind } from './engine/cluster.ts'
export { splitCommandLine } from './engine/runs/command-line.ts'
export { planCommand } from './engine/runs/command.ts'
export type { PlanContext, RunRequest } from './engine/runs/command.ts'
export { InputError } from './engine/runs/inputs.ts'
export type { InputField, InputForm } from './engine/runs/inputs.ts'
export type { JobSettings, JobState } from './engine/runs/job.ts'
export { runsOf } from './engine/runs/run.ts'
export type { Run, RunFilter } from './engine/runs/run.ts'
export { ActionError, asActionError } from './engine/action-error.ts'
export type { ActionErrorKind } from './engine/action-error.ts'
export { Sandbox, SnippetError } from './sandbox/sandbox.ts'
export { FileCluster } from './offline/file-cluster.ts'

// running Jobs without a kubelet
export { JobRunner } from './runner/job-runner.ts'
export type { JobRunnerOptions } from './runner/job-run.ts'
export type { RunMode } from './runner/launch.ts'
export type { LogQuery } from './runner/pod-logs.ts'
