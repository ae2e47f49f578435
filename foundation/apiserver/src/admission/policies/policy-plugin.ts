// The ValidatingAdmissionPolicy plugin. Without policies a request costs one lookup of an empty list.
import { asJson, StatusError } from '@fairlead/kube'
import type { KubeObject, StatusCause } from '@fairlead/kube'
import { fromJson } from '@fairlead/kube/cel'
import type { Authorizer } from '../../identity/authorizer.ts'
import type { ServedResource } from '../../registry/registry.ts'
import type { AdmissionPlugin } from '../plugin.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import { isExempt, refusal } from '../attributes.ts'
import { inVersion } from '../matching/in-version.ts'
import { RequestValues } from '../expressions/variables.ts'
import { matchedVersion } from '../matching/match-resources.ts'
import { isNamespaces } from '../../objects/namespace-rules.ts'
import { CompiledPolicy } from './compiled-policy.ts'
import type { Denial } from './compiled-policy.ts'
import { ConfigurationError, paramResource, paramsOf } from './params.ts'
import type { ParamSource } from './params.ts'
import { bindingsResource, policiesResource } from './policy.ts'
import type { PolicyBinding, ValidatingAdmissionPolicy } from './policy.ts'

/** The dependencies of the plugin. */
export interface PolicyDependencies extends ParamSource {
  readonly authorizer: Authorizer
}

/** A refusal with its policy and, where there is one, its binding. */
interface PolicyViolation {
  readonly policy: string
  readonly binding: string | undefined
  readonly denial: Denial
}

/** Returns the plugin. */
export function validatingAdmissionPolicyPlugin(source: PolicyDependencies): AdmissionPlugin {
  const compiled = new WeakMap<KubeObject, CompiledPolicy>()
  const compile = (policy: ValidatingAdmissionPolicy): CompiledPolicy => {
    let known = compiled.get(policy)
    if (known === undefined) compiled.set(policy, (known = new CompiledPolicy(policy)))
    return known
  }
  return {
    name: 'ValidatingAdmissionPolicy',
    validate(request) {
      const policies = [...(source.list(policiesResource) as Iterable<ValidatingAdmissionPolicy>)]
      if (policies.length === 0 || isExempt(request)) return undefined
      return validate(policies.toSorted(byName), request, source, compile)
    },
  }
}

async function validate(
  policies: readonly ValidatingAdmissionPolicy[],
  request: AdmissionAttributes,
  source: PolicyDependencies,
  compile: (policy: ValidatingAdmissionPolicy) => CompiledPolicy,
): Promise<void> {
  const run = new PolicyRun(request, source)
  for (const policy of policies) await run.check(policy, compile)
  const [first] = run.violations
  if (first !== undefined) throw denied(request, first)
}

/** The evaluation of all policies for one request. */
class PolicyRun {
  readonly violations: PolicyViolation[] = []
  readonly #request: AdmissionAttributes
  readonly #source: PolicyDependencies
  /** The request in each version that a policy needed. */
  readonly #values = new Map<string, RequestValues>()

  constructor(request: AdmissionAttributes, source: PolicyDependencies) {
    this.#request = request
    this.#source = source
  }

  async check(policy: ValidatingAdmissionPolicy, compile: (policy: ValidatingAdmissionPolicy) => CompiledPolicy) {
    const bindings = this.#bindingsOf(policy)
    if (bindings.length === 0) return
    try {
      const as = matchedVersion(policy.spec?.matchConstraints ?? {}, this.#request, this.#readNamespace)
      if (as === undefined) return
      const params = paramResource(policy, this.#source.registry)
      for (const binding of bindings) await this.#bound(policy, compile(policy), binding, as, params)
    } catch (error) {
      this.#misconfigured(policy, undefined, error)
    }
  }

  async #bound(
    policy: ValidatingAdmissionPolicy,
    compiled: CompiledPolicy,
    binding: PolicyBinding,
    as: ServedResource,
    paramsResource: ServedResource | undefined,
  ): Promise<void> {
    try {
      const { matchResources } = binding.spec ?? {}
      if (
        matchResources !== undefined &&
        matchedVersion(matchResources, this.#request, this.#readNamespace) === undefined
      )
        return
      const all = await paramsOf(paramsResource, binding, this.#namespaceName, this.#source)
      const { values } = await this.#valuesIn(as)
      for (const params of all) {
        const denials = compiled.denials({ ...values, params: params === undefined ? null : fromJson(asJson(params)) })
        for (const denial of denials) this.#act(policy, binding, denial)
      }
    } catch (error) {
      this.#misconfigured(policy, binding, error)
    }
  }

  #act(policy: ValidatingAdmissionPolicy, binding: PolicyBinding, denial: Denial): void {
    const [policyName, bindingName] = [policy.metadata.name!, binding.metadata.name!]
    const actions = denial.isAnnotation === true ? ['Deny'] : (binding.spec?.validationActions ?? [])
    if (actions.includes('Deny')) this.violations.push({ policy: policyName, binding: bindingName, denial })
    if (actions.includes('Warn')) {
      const text = `Validation failed for ValidatingAdmissionPolicy '${policyName}' with binding '${bindingName}': ${denial.message}`
      this.#request.warnings.push(text)
    }
  }

  /** A policy that cannot be applied refuses every request that it matches, unless its failurePolicy is Ignore. */
  #misconfigured(policy: ValidatingAdmissionPolicy, binding: PolicyBinding | undefined, error: unknown): void {
    if (!(error instanceof ConfigurationError || error instanceof StatusError)) throw error
    if (policy.spec?.failurePolicy === 'Ignore') return
    const what = binding === undefined ? 'policy' : 'binding'
    this.violations.push({
      policy: policy.metadata.name!,
      binding: binding?.metadata.name,
      denial: { message: `failed to configure ${what}: ${error.message}`, reason: 'Invalid' },
    })
  }

  #bindingsOf({ metadata: { name } }: ValidatingAdmissionPolicy): readonly PolicyBinding[] {
    const all = this.#source.list(bindingsResource) as Iterable<PolicyBinding>
    return [...all].filter(({ spec }) => spec?.policyName === name).toSorted(byName)
  }

  get #namespaceName(): string {
    return isNamespaces(this.#request.resource.definition) ? '' : this.#request.namespace
  }

  readonly #readNamespace = (name: string): KubeObject | undefined => this.#source.read('namespaces.', name)

  async #valuesIn(as: ServedResource): Promise<RequestValues> {
    let values = this.#values.get(as.apiVersion)
    if (values === undefined) {
      const name = this.#namespaceName
      const namespace = name === '' ? undefined : this.#readNamespace(name)
      values = new RequestValues(await inVersion(this.#request, as), as, namespace, this.#source.authorizer)
      this.#values.set(as.apiVersion, values)
    }
    return values
  }
}

function byName(a: KubeObject, b: KubeObject): number {
  return a.metadata.name! < b.metadata.name! ? -1 : 1
}

const codes: Readonly<Record<string, number>> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 }

function denied(request: AdmissionAttributes, { policy, binding, denial }: PolicyViolation): StatusError {
  const who = `ValidatingAdmissionPolicy '${policy}'${binding === undefined ? '' : ` with binding '${binding}'`}`
  const message = `${who} denied request: ${denial.message}`
  const { status } = refusal(request, message)
  const cause: StatusCause = { message }
  return new StatusError({
    ...status,
    reason: denial.reason,
    code: codes[denial.reason] ?? 422,
    details: { ...status.details, causes: [...(status.details?.causes ?? []), cause] },
  })
}
