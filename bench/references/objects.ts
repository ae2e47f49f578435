// The objects of the benchmark.
import type { JsonObject, KubeObject } from '@fairlead/kube'

const namespace = 'default'
const iam = 'iam.services.k8s.aws/v1alpha1'
const sagemaker = 'sagemaker.services.k8s.aws/v1alpha1'
const trust = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: { Service: 'sagemaker.amazonaws.com' }, Action: 'sts:AssumeRole' }],
})
const document = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: 's3:GetObject', Resource: '*' }],
})

function object(apiVersion: string, kind: string, name: string, spec: JsonObject): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace }, spec }
}

export const policy = (name: string): KubeObject => object(iam, 'Policy', name, { name, policyDocument: document })

/** Returns a Role whose boundary is a Policy, where one is named. */
export const role = (name: string, boundary?: string): KubeObject =>
  object(iam, 'Role', name, {
    name,
    assumeRolePolicyDocument: trust,
    ...(boundary === undefined ? {} : { permissionsBoundaryRef: { name: boundary } }),
  })

/** Returns the chain Role <- Model <- EndpointConfig <- Endpoint. */
export const chain = (name: string): readonly KubeObject[] => [
  role(name),
  object(sagemaker, 'Model', name, { modelName: name, executionRoleARNRef: { name } }),
  object(sagemaker, 'EndpointConfig', name, {
    endpointConfigName: name,
    productionVariants: [
      { variantName: 'v', modelNameRef: { name }, initialInstanceCount: 1, instanceType: 'ml.m5.large' },
    ],
  }),
  object(sagemaker, 'Endpoint', name, { endpointName: name, endpointConfigNameRef: { name } }),
]

/** Returns every order of the items. */
export function orders<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length <= 1) return [items]
  return items.flatMap((item, index) => orders(items.toSpliced(index, 1)).map((rest) => [item, ...rest]))
}
