// The kinds of this package, with the facts of originals/ack.md §9.
import { lateInitializedFields, referenceTable } from '../generated/references.ts'
import type { ResourceKind } from './resource-kind.ts'

export const iamGroup = 'iam.services.k8s.aws'
export const sagemakerGroup = 'sagemaker.services.k8s.aws'
const version = 'v1alpha1'

function rowsOf(group: string, kind: string): ResourceKind['rows'] {
  return referenceTable[`${group}/${kind}`] ?? []
}

function lateFieldsOf(group: string, kind: string): readonly string[] {
  return lateInitializedFields[`${group}/${kind}`] ?? []
}

const iam = {
  group: iamGroup,
  version,
  // Reads of IAM are eventually consistent.
  visibleAfter: 10_000,
  uncompared: ['tags', 'path'],
  terminalCodes: [
    'InvalidInput',
    'InvalidInputException',
    'MalformedPolicyDocument',
    'MalformedPolicyDocumentException',
    'PolicyVersionLimitExceeded',
  ],
} as const

const sagemaker = {
  group: sagemakerGroup,
  version,
  cleared: [],
  documents: [],
  terminalCodes: ['InvalidParameterCombination', 'InvalidParameterValue', 'MissingParameter'],
} as const

/** Role of IAM. */
export const roleKind: ResourceKind = {
  ...iam,
  kind: 'Role',
  plural: 'roles',
  rows: rowsOf(iamGroup, 'Role'),
  lateInitialized: lateFieldsOf(iamGroup, 'Role'),
  keyPaths: ['name'],
  updatable: true,
  cleared: ['description', 'inlinePolicies', 'permissionsBoundary', 'policies'],
  documents: ['assumeRolePolicyDocument'],
}

/** Policy of IAM. */
export const policyKind: ResourceKind = {
  ...iam,
  kind: 'Policy',
  plural: 'policies',
  rows: rowsOf(iamGroup, 'Policy'),
  lateInitialized: lateFieldsOf(iamGroup, 'Policy'),
  keyPaths: ['name'],
  updatable: true,
  uncompared: ['tags', 'path', 'description'],
  cleared: [],
  documents: ['policyDocument'],
}

/** Model of SageMaker. */
export const modelKind: ResourceKind = {
  ...sagemaker,
  kind: 'Model',
  plural: 'models',
  rows: rowsOf(sagemakerGroup, 'Model'),
  lateInitialized: lateFieldsOf(sagemakerGroup, 'Model'),
  keyPaths: ['modelName'],
  updatable: false,
  uncompared: ['tags'],
}

/** EndpointConfig of SageMaker. */
export const endpointConfigKind: ResourceKind = {
  ...sagemaker,
  kind: 'EndpointConfig',
  plural: 'endpointconfigs',
  rows: rowsOf(sagemakerGroup, 'EndpointConfig'),
  lateInitialized: lateFieldsOf(sagemakerGroup, 'EndpointConfig'),
  keyPaths: ['endpointConfigName'],
  updatable: false,
  uncompared: ['tags'],
}

/** Endpoint of SageMaker. */
export const endpointKind: ResourceKind = {
  ...sagemaker,
  kind: 'Endpoint',
  plural: 'endpoints',
  rows: rowsOf(sagemakerGroup, 'Endpoint'),
  lateInitialized: lateFieldsOf(sagemakerGroup, 'Endpoint'),
  keyPaths: ['endpointName'],
  updatable: true,
  // A deployment configuration says how to update, not what.
  uncompared: ['tags', 'deploymentConfig'],
  states: {
    field: 'endpointStatus',
    modifying: ['Creating', 'Updating', 'SystemUpdating', 'RollingBack', 'Deleting'],
    failed: ['Failed'],
    reasonField: 'failureReason',
  },
  terminalCodes: [...sagemaker.terminalCodes, 'EndpointUpdateError'],
  resync: 30_000,
}

/** All kinds of this package; referents before what refers to them. */
export const resourceKinds: readonly ResourceKind[] = [
  policyKind,
  roleKind,
  modelKind,
  endpointConfigKind,
  endpointKind,
]
