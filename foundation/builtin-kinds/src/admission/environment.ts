// The CEL environment of admission: the types of the variables that expressions of policies and webhooks may use
// (apiserver's pkg/admission/plugin/cel and pkg/admission/plugin/policy/validating). Validation compiles in it, the
// admission plugins run in it.
import { authorizerType, listOf, mapOf, objectOf, types } from '@fairlead/kube/cel'
import type { CelType } from '@fairlead/kube/cel'
import { Expression } from './expression.ts'

/** Types by variable. */
export type Declarations = Readonly<Record<string, CelType>>

function fields(name: string, declarations: Declarations): CelType {
  return objectOf(`kubernetes.${name}`, new Map(Object.entries(declarations)))
}

const { string, bool, dyn, int, timestamp } = types
const kindType = fields('GroupVersionKind', { group: string, version: string, kind: string })
const resourceType = fields('GroupVersionResource', { group: string, version: string, resource: string })

/** The type of `request`: an AdmissionRequest without its uid and objects. */
export const requestType: CelType = fields('AdmissionRequest', {
  kind: kindType,
  resource: resourceType,
  subResource: string,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: fields('UserInfo', {
    username: string,
    uid: string,
    groups: listOf(string),
    extra: mapOf(string, listOf(string)),
  }),
  dryRun: bool,
  options: dyn,
})

/** The type of `namespaceObject`. */
export const namespaceType: CelType = fields('Namespace', {
  metadata: fields('NamespaceMetadata', {
    name: string,
    generateName: string,
    namespace: string,
    labels: mapOf(string, string),
    annotations: mapOf(string, string),
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: listOf(string),
  }),
  spec: fields('NamespaceSpec', { finalizers: listOf(string) }),
  status: fields('NamespaceStatus', { phase: string }),
})

/** The variables of every expression of admission; the objects are dynamic. */
export const requestDeclarations: Declarations = {
  object: dyn,
  oldObject: dyn,
  request: requestType,
  namespaceObject: namespaceType,
}

/** The variable `authorizer`, for expressions of rules and conditions. */
export const authorizerDeclaration: Declarations = { authorizer: authorizerType }

/** A compiled variable of a policy. */
export interface CompiledVariable {
  readonly name: string
  readonly expression: Expression
}

/** The part of a policy that declares `params`. */
export interface PolicyParams {
  readonly spec?: { readonly paramKind?: unknown }
}

/** The declarations of `variables`; each expression can use those before it. */
export interface VariableScope {
  readonly variables: readonly CompiledVariable[]
  readonly declarations: Declarations
}

/** Compiles `spec.variables`; those that do not compile are dynamic. */
export function compileVariables(
  variables: readonly { readonly name?: string; readonly expression?: string }[],
  declarations: Declarations,
): VariableScope {
  // Grows with each variable: a copy for each takes seconds for thousands of them.
  const known = new Map<string, CelType>()
  const scope =
    variables.length === 0 ? declarations : { ...declarations, variables: objectOf('kubernetes.variables', known) }
  const compiled = variables.map(({ name = '', expression = '' }) => {
    const variable = { name, expression: new Expression(expression, scope) }
    known.set(name, variable.expression.program?.type ?? types.dyn)
    return variable
  })
  return { variables: compiled, declarations: scope }
}

/** Returns the declarations of a policy without its variables. */
export function policyDeclarations({ spec }: PolicyParams): Declarations {
  return { ...requestDeclarations, ...(spec?.paramKind === undefined ? {} : { params: types.dyn }) }
}
