// Public API of @fairlead/aws. Start with `reconcileResource`, which decides; the controllers carry it out.
export { reconcileResource } from './engine/reconcile.ts'
export type { ObjectStore, Outcome, ReconcileInput, Settings } from './engine/reconcile-input.ts'
export type { Change, Observed, ResourceManager, TagChange } from './engine/resource-manager.ts'
export { finalizerOf } from './engine/resource-kind.ts'
export type { ResourceKind, ResourceStates } from './engine/resource-kind.ts'
export type { ResourceStatus } from './engine/resource-status.ts'
export { withLateFields } from './engine/late-initialize.ts'
export type { LateFields } from './engine/late-initialize.ts'
export { AwsError } from './engine/aws-error.ts'
export type { AwsErrorDetails } from './engine/aws-error.ts'
export { resourceKinds } from './engine/kinds.ts'
export { ResourceControllers } from './controllers/resource-controller.ts'
export type { ResourceControllersOptions } from './controllers/resource-controller.ts'

// the capability
export { aws } from './capability.ts'
export { crds } from './generated/crds.ts'
