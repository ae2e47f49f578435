// The calls of each kind.
import type { ResourceKind } from '../engine/resource-kind.ts'
import type { ResourceManager } from '../engine/resource-manager.ts'
import type { ServiceName } from '../engine/service-model.ts'
import { PolicyManager } from './policy-manager.ts'
import { RoleManager } from './role-manager.ts'
import { SageMakerManager } from './sagemaker-manager.ts'
import type { SageMakerKind } from './sagemaker-manager.ts'
import type { ServiceApi } from './service-api.ts'

/** Returns the calls of a kind over the APIs of a region. */
export function managerFor({ kind }: ResourceKind, api: (service: ServiceName) => ServiceApi): ResourceManager {
  if (kind === 'Role') return new RoleManager(api('iam'))
  if (kind === 'Policy') return new PolicyManager(api('iam'))
  return new SageMakerManager(kind as SageMakerKind, api('sagemaker'))
}
