// Public API of @fairlead/references: the resolver, for any controller. Start with `resolveReferences`.
export { resolveReferences } from './engine/resolve.ts'
export type { Advisory, Dependent, Problem, ProblemReason, Resolution } from './engine/resolve.ts'
export type { ResolvedReference } from './engine/resolved-reference.ts'
export { referencesCondition } from './engine/conditions.ts'
export type { Lookup, ObjectCycle, Permission, Referents } from './engine/referents.ts'
export type {
  BothSet,
  Identifier,
  ReferenceRow,
  ReferenceTable,
  ReferentKind,
  ReferringKind,
  WaitFor,
} from './engine/reference-table.ts'
export { valueAt, withValue } from './engine/occurrences.ts'
export { formatId, idKey } from './engine/object-id.ts'
export type { ObjectId } from './engine/object-id.ts'

// the index of references, and what its events mean
export { ReferenceIndex, edgesOf } from './engine/reference-index.ts'
export type { Edge } from './engine/reference-index.ts'
export type { GateReason, View } from './engine/gate.ts'

// both on a cluster, for a controller of any kinds
export { ReferenceWatch } from './runtime/reference-watch.ts'
export type { ReferenceWatchOptions } from './runtime/reference-watch.ts'
export { kindRelations } from './runtime/kind-relations.ts'

// deletion, and checks of configurations
export { decideDeletion } from './engine/deletion.ts'
export type { Deletion, DeletionDecision, DependentState } from './engine/deletion.ts'
export { cyclesOf } from './engine/cycles.ts'
export { isGranted } from './engine/grants.ts'
export { referenceGrantKind } from './runtime/kinds.ts'
export type { ReferenceGrantObject } from './runtime/kinds.ts'
export { checkValuePath } from './engine/value-path.ts'
export type { CheckedPath } from './engine/value-path.ts'

// the capability, and the types of its API
export { references } from './capability.ts'
export { ReferenceRules } from './controllers/reference-rule-controller.ts'
export { crds } from './generated/crds.ts'
export { apiGroup, apiVersion } from './api.ts'
export type { ReferenceGrant, ReferenceRule, ReferenceRuleSpec, TargetProblem } from './api.ts'
