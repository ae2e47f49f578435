// Public API of @fairlead/offline: what commands need without a server.
export { CommandError, exitCode, usageError } from './command-error.ts'

// manifests
export { ManifestError } from './manifest-error.ts'
export { manifestFiles } from './manifest-files.ts'
export { parseDocuments, readDocuments } from './documents.ts'
export type { Document, SyntaxHint } from './documents.ts'
export { manifestsOf, readManifests } from './manifests.ts'
export type { Manifest, ReadOptions } from './manifests.ts'

// kinds and schemas
export { KindCatalog, UnknownKindError } from './kind-catalog.ts'
export type { ResourceKind } from './resource-kind.ts'
export { pluralOf } from './plural.ts'
export { CrdSchemas, validManifests } from './crd-schemas.ts'

// flags and results of commands
export { hostAddresses } from './host-address.ts'
export { formatStructured } from './structured-output.ts'
export type { StructuredFormat } from './structured-output.ts'
export { terminalText } from './terminal-text.ts'
export { testSummary } from './test-summary.ts'
export type { TestCounts } from './test-summary.ts'

// plans
export { formatPlan, planFormats, planReference, printPlan } from './plan.ts'
export type { Plan, PlanAction, PlanFormat, PlanReference } from './plan.ts'
