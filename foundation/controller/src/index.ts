// Public API of @fairlead/controller. Start with `Manager.start` and `manager.controller(name)`.
export { Manager } from './manager.ts'
export type { ActAs, ManagerOptions } from './manager.ts'
export { after, terminal, TerminalError } from './result.ts'
export type { After, Result } from './result.ts'

// capabilities
export type * from './capability.ts'
export type * from './routes.ts'
export { SettingError } from './setting-error.ts'
export type { PolicyRule } from './policy-rule.ts'
export { objectReference } from './object-reference.ts'
export type { ObjectReference } from './object-reference.ts'
export type { RequiredAccess, RequiredKindAccess, Validator } from './validator.ts'
export type * from './resource-storage.ts'
export { command } from './command.ts'
export type {
  ArgumentValue,
  Command,
  CommandArgument,
  CompletionContext,
  CommandContext,
  CommandDeclaration,
  CommandOption,
  OptionValue,
} from './command.ts'

// the graph of derived objects
export type { GroupKind, Relation, RelationProblem, RelationSource, RelationType } from './graph/relation.ts'
export { orderOf, referenceKey } from './graph/relation.ts'
export type { ObjectList, ObjectRead, ObjectReader, Unreadable } from './graph/object-reader.ts'
export { ClientReader } from './graph/client-reader.ts'
export type { ClientReaderOptions } from './graph/client-reader.ts'
export { ownerRelations } from './graph/owner-relations.ts'
export { podRelations } from './graph/pod-relations.ts'
export { isFine } from './graph/object-state.ts'
export type { ObjectState, StateName } from './graph/object-state.ts'
export { ObjectLookup, exploreGraph } from './graph/relation-graph.ts'
export type { GraphDirection, GraphInput, GraphNode, GraphOptions, RelationGraph } from './graph/relation-graph.ts'
export { findCauses } from './graph/causes.ts'
export type { Cause, CauseStep, Causes } from './graph/causes.ts'

// controllers of one kind
export { ControllerBuilder, ObjectControllerBuilder } from './reconcile/builder.ts'
export type { ControllerHost, ControllerOptions, SourceOptions } from './reconcile/builder.ts'
export { Controller, ownerKeys } from './reconcile/controller.ts'
export type { DeletedContext, ReconcileContext } from './reconcile/controller.ts'
export { addFinalizer, hasFinalizer, removeFinalizer } from './reconcile/finalizer.ts'
export {
  allOf,
  annotationsChanged,
  anyOf,
  deletionBegan,
  generationChanged,
  labelsChanged,
} from './reconcile/predicate.ts'
export type { Predicate } from './reconcile/predicate.ts'
export { ObjectStatus } from './reconcile/status-writer.ts'
export type { StatusFields, StatusWriter } from './reconcile/status-writer.ts'

// what controllers are made of
export { WorkLoop } from './work/work-loop.ts'
export type { ItemsOf, WatchOptions, WorkContext, WorkLoopHost, WorkLoopOptions } from './work/work-loop-options.ts'
export type { ShardGate } from './work/shard-runs.ts'
export type { Reader } from './work/reader.ts'
export { Dependencies } from './work/dependencies.ts'
export type { Read } from './work/dependencies.ts'
export { ResponseReservation } from './hooks/response-budget.ts'
export { OwnWrites } from './work/own-writes.ts'
export type { ObservedChange } from './work/own-writes.ts'
export { Informer } from './informer/informer.ts'
export type { InformerListener, InformerScope, InformerState, ObjectChange } from './informer/informer.ts'
export { KindUnavailable, staleMessage } from './informer/kind-unavailable.ts'
export type { KindUnavailableCode } from './informer/kind-unavailable.ts'
export type { Known, Unknown } from './informer/known.ts'
export type { ObjectCache, ObjectFilter } from './informer/object-cache.ts'
export { InformerPool } from './informer/informer-pool.ts'
export type { InformerUse } from './informer/informer-pool.ts'
export { ObjectIndex } from './informer/object-index.ts'
export type { IndexFunction } from './informer/object-index.ts'
export { WorkQueue } from './queue/work-queue.ts'
export type { Priority, QueueObserver, WorkQueueOptions } from './queue/work-queue.ts'
export { failureOf, failures } from './queue/failure.ts'
export type { Failure, FailureRow, FailureType } from './queue/failure.ts'
export { RemoteError, localRetry, remoteRetry } from './queue/retry-policy.ts'
export type { RetryPolicy } from './queue/retry-policy.ts'
export { EndpointWaiters } from './queue/endpoint-waiters.ts'

// around them
export { EventRecorder } from './event-recorder.ts'
export type { EventDetails, ObjectEvents } from './event-recorder.ts'
export { Deadline } from './deadline.ts'
export { LeaderElection } from './leader-election.ts'
export type { LeaderElectionHost, LeaderElectionOptions } from './leader-election.ts'
export { LeaseExpired } from './write-fence.ts'
export { GrantWatch } from './access/grant-watch.ts'
export { AccessReviews, serviceAccountSubject } from './access/access-reviews.ts'
export type { AccessDecision, AccessSubject, ResourceAccess } from './access/access-reviews.ts'
export { accessRequiredBy, accessToKind, missingAccess } from './required-access.ts'
export { Shards } from './shards/shards.ts'
export type { ShardListener, ShardOptions } from './shards/shards.ts'
export { planShards, shardOf } from './shards/shard-plan.ts'
export type { ShardPlan, ShardsSeen } from './shards/shard-plan.ts'
export { installDefinitions } from './definitions.ts'
export { createLogger, silentLogger } from './logger.ts'
export type { LogFields, Logger, LoggerOptions } from './logger.ts'
export { Metrics } from './metrics.ts'
export type { ControllerMetrics, ReconcileResult } from './metrics.ts'

// hooks of users
export { HookHosts, isHookHost } from './hooks/hook-hosts.ts'
export { isLinkLocal } from './hooks/hook-address.ts'
export { HookClient, HookError } from './hooks/hook-client.ts'
export type {
  HookResponse,
  HookAuthorization,
  HookCall,
  HookClientOptions,
  HookEndpoint,
  HookErrorCode,
  HookResolver,
  HookTls,
} from './hooks/hook-client.ts'

// its own server
export { ManagerServer, servedHosts } from './server/manager-server.ts'
export type { ManagerServerHost, ManagerServerOptions, ReadinessCheck } from './server/manager-server.ts'
export { CertificateKeeper } from './server/certificate-keeper.ts'
export type { CertificateKeeperOptions } from './server/certificate-keeper.ts'
export { renewedCertificates } from './server/serving-certificates.ts'
export type { ServingCertificates } from './server/serving-certificates.ts'
export type { CaBundleTarget } from './server/ca-bundles.ts'
export type { Converter } from './server/conversion-review.ts'
export { CertificateMaker } from './server/certificate-maker.ts'
export { readCertificateRequest, requestedOrganizations } from './server/certificate-request.ts'
export type { CertificateUse, KeyPair, Keys, Subject, Validity } from './server/certificate-maker.ts'
