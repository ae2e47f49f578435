// The public API of @fairlead/apiserver. Start with `ApiServer.start`; the parts are for building other servers.

export { ApiServer } from './server.ts'
export { serverVersion } from './server-version.ts'
export type { Listening, ListeningOptions } from './server.ts'
export { admissionPluginNames } from './startup/options.ts'
export type {
  AdmissionPluginName,
  ApiServerOptions,
  ControllerName,
  ServiceAccountTokenSettings,
} from './startup/options.ts'
export type { Limit, RequestLimitOptions } from './http/request-limits.ts'
export type { Route, UpgradeHandler } from './http/route.ts'
export type { LogRequest, PodLogs } from './handlers/pods/log.ts'
export type { InjectedRequest, InjectedResponse } from './in-process/inject.ts'
export { ResourceStorageError } from './resource-storage/storage-definition.ts'
export type { ResourceStorageErrorCode } from './resource-storage/storage-definition.ts'
export type { AdmissionAttributes } from './admission/attributes.ts'
export type { AdmissionPlugin } from './admission/plugin.ts'

// behind an APIService of another cluster
export { ExtensionServer } from './extension-server/extension-server.ts'
export type { ExtensionServerOptions, ExtensionServing } from './extension-server/extension-server.ts'
export { extensionServerRules } from './extension-server/rules.ts'
export type { ExtensionServerRulesOptions } from './extension-server/rules.ts'

// storage
export { StoreError } from './storage/store.ts'
export type { Change, ChangeListener, Entry, Page, Range, Store, StoreErrorCode, Write } from './storage/store.ts'
export { memory } from './storage/memory.ts'
export { sqlite } from './storage/sqlite.ts'
export { journaled } from './storage/storage.ts'
export type { Storage } from './storage/storage.ts'
export type { Compaction, Journal, JournalBatch, JournalRecord, JournalState, StoredRecord } from './storage/journal.ts'
export type { StoreOptions } from './storage/versioned-store.ts'
export type { Window } from './storage/resource-table.ts'

// audit
export { AuditFile } from './audit/audit-file.ts'
export type { AuditSink } from './audit/audit-log.ts'

// backups
export { backupPath } from './backup/backup-route.ts'
export { backupFormat, readBackup, writeBackup } from './backup/backup-file.ts'
export type { Backup, BackupHeader } from './backup/backup-file.ts'
export { BackupError } from './backup/backup-error.ts'
export type { BackupErrorCode } from './backup/backup-error.ts'
export { planRestore } from './backup/restore-plan.ts'
export type { RestoreCounts, RestorePlan } from './backup/restore-plan.ts'
export { prepareRestore, RestoreRefused } from './backup/restore.ts'
export type { Restore, RestoreOptions } from './backup/restore.ts'

// parts of the server: authentication and authorization
export type { Attributes, Authorizer, Decision, UserRules } from './identity/authorizer.ts'
export type { Authenticator, ClientCertificate, Credentials } from './identity/credentials.ts'
export type { UserInfo } from '@fairlead/kube'
export * from './identity/well-known-users.ts'
export {
  authenticate,
  bearerToken,
  certificateAuthenticator,
  staticTokens,
  withAuthenticatedGroup,
} from './auth/authenticators.ts'
export type { StaticToken } from './auth/authenticators.ts'
export { describeAttempt, forbiddenRequest } from './auth/forbidden.ts'
export { impersonate, readImpersonation } from './auth/impersonation.ts'
export type { ImpersonationRequest } from './auth/impersonation.ts'
export { ServiceAccountTokens } from './auth/service-account-tokens.ts'
export type { BoundObject, TokenGrant, TokenOptions, VerifiedToken } from './auth/service-account-tokens.ts'
export { answerTokenRequest, defaultTokenRequest } from './auth/token-request.ts'
export type { TokenRequestContext } from './auth/token-request.ts'
export { accessReviews } from './auth/access-reviews.ts'
export type { AccessReview, AccessReviewContext } from './auth/access-reviews.ts'
export { reviewHandlers } from './handlers/reviews.ts'
export type { ReviewDependencies } from './handlers/reviews.ts'
export { tokenHandler } from './handlers/token.ts'
export { reviewSelf, reviewToken, userInfo } from './auth/authentication-reviews.ts'
export type { TokenReviewContext } from './auth/authentication-reviews.ts'
export { RbacAuthorizer } from './auth/rbac/rbac-authorizer.ts'
export type { ResolvedRules } from './auth/rbac/rbac-authorizer.ts'
export { RoleIndex } from './auth/rbac/role-index.ts'
export type { Binding, Grant, RoleReader, RoleRef, Subject } from './auth/rbac/role-index.ts'
export { compactRules, describeRule, missingRules, ruleAllows } from './auth/rbac/policy-rule.ts'
export type { PolicyRule } from './auth/rbac/policy-rule.ts'
export { checkEscalation, isEscalationGuarded } from './auth/rbac/escalation.ts'
export type { RbacState, RbacWrite } from './auth/rbac/escalation.ts'
export { rbacEscalationPlugin } from './admission/rbac-escalation.ts'
export { aggregatedRules } from './auth/rbac/aggregated-cluster-roles.ts'
export type { AggregatedClusterRole } from './auth/rbac/aggregated-cluster-roles.ts'
export { bootstrapPolicy } from './auth/rbac/bootstrap-policy.ts'

// parts of the server: the registry of resources
export { Registry } from './registry/registry.ts'
export type { RegistryReader, ServedResource } from './registry/registry.ts'

// parts of the server: protobuf
export { decodeProtobuf, encodeProtobuf, encodeProtobufEvent, protobufCodec } from './protobuf/protobuf-codec.ts'
export { ProtobufError } from './protobuf/protobuf-error.ts'

// parts of the server: custom resources
export { customResourceStrategy, resourceDefinitionFrom } from './custom/index.ts'
export type { CompiledRules, RuleEngine } from './custom/index.ts'

// parts of the server: certificates and kubeconfig
export { adminCertificate, loadCertificates, makeCertificates } from './auth/certificates.ts'
export type { CertificateOptions, Certificates, KeyPair } from './auth/certificates.ts'
export { issuerRoute } from './auth/issuer-route.ts'
export { signingKey, tokenKey, verificationKeys } from './auth/token-key.ts'
export { kubeconfigText, writeKubeconfig } from './auth/kubeconfig-file.ts'
export type { KubeconfigContent } from './auth/kubeconfig-file.ts'
export { writePrivate } from './auth/private-file.ts'

// parts of the server: HTTP, discovery, OpenAPI
export type { RequestTarget, ServedEvent, ServerBody, ServerRequest, ServerResponse } from './http/message.ts'
export { listen, ListenError } from './http/listener.ts'
export type { Listener, ListenerTls, ListenOptions } from './http/listener.ts'
export { readCredentials } from './http/server-request.ts'
export * from './discovery/index.ts'

// parts of the server: controllers inside it
export { CustomResources } from './controllers/crd/custom-resources.ts'
export type { CustomResourcesOptions } from './controllers/crd/custom-resources.ts'
export { nextStep } from './controllers/crd/lifecycle.ts'
export type { LifecycleFacts, LifecycleStep } from './controllers/crd/lifecycle.ts'
export { internalControllers, startControllers } from './controllers/index.ts'
export type { ControllersOptions, InternalController, ResourceSource } from './controllers/index.ts'
