// The calls of managed policies: found by ARN, or by name among the policies of the account; changed by versions.
import type { JsonObject } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import type { Change, Observed, ResourceManager, TagChange } from '../engine/resource-manager.ts'
import { serviceModel } from '../engine/service-model.ts'
import { changeTags, decodedDocument, found, listAll, tagList, tagsFrom } from './iam-policies.ts'
import type { ApiObject, ServiceApi } from './service-api.ts'
import { pick, toFields, toInput } from './shape-mapping.ts'
import { statusFields } from './status-fields.ts'

const renames = { PolicyName: 'Name' }
/** Versions that IAM keeps of a policy. */
const mostVersions = 5

/** Makes the calls for managed policies. */
export class PolicyManager implements ResourceManager {
  readonly #api: ServiceApi
  readonly #statusFields = statusFields('Policy')

  constructor(api: ServiceApi) {
    this.#api = api
  }

  async read(spec: JsonObject, status: JsonObject): Promise<Observed | undefined> {
    const metadata = status['ackResourceMetadata']
    const known = spec['arn'] ?? (isJsonObject(metadata) ? metadata['arn'] : undefined)
    const arn = typeof known === 'string' ? known : await this.#arnOf(spec)
    if (arn === undefined) return undefined
    const output = await found(this.#api.call('GetPolicy', { PolicyArn: arn }))
    if (output === undefined) return undefined
    const policy = output['Policy'] as ApiObject
    const version = await found(
      this.#api.call('GetPolicyVersion', { PolicyArn: arn, VersionId: policy['DefaultVersionId'] as string }),
    )
    const document = (version?.['PolicyVersion'] as ApiObject | undefined)?.['Document']
    return this.#observed(policy, { policyDocument: decodedDocument(document) })
  }

  async tags({ arn }: Observed): Promise<Readonly<Record<string, string>>> {
    const output = await this.#api.call('GetPolicy', { PolicyArn: arn })
    return tagsFrom((output['Policy'] as ApiObject)['Tags'])
  }

  tag({ arn }: Observed, change: TagChange): Promise<void> {
    return changeTags(this.#api, 'Policy', { PolicyArn: arn }, change)
  }

  async create(spec: JsonObject, tags: Readonly<Record<string, string>>): Promise<Observed> {
    const model = serviceModel('iam')
    const input = toInput(model, model.operations.get('CreatePolicy')?.input as string, spec, renames)
    const output = await this.#api.call('CreatePolicy', { ...input, Tags: tagList(input['Tags'], tags) })
    return this.#observed(output['Policy'] as ApiObject, pick(spec, ['policyDocument']))
  }

  async update({ spec, observed }: Change): Promise<Observed> {
    const { arn } = observed
    const versions = await this.#versions(arn)
    const [oldest] = versions
      .filter(({ IsDefaultVersion }) => IsDefaultVersion !== true)
      .toSorted((a, b) => versionNumber(a) - versionNumber(b))
    if (versions.length >= mostVersions && oldest !== undefined)
      await this.#api.call('DeletePolicyVersion', { PolicyArn: arn, VersionId: oldest['VersionId'] })
    await this.#api.call('CreatePolicyVersion', {
      PolicyArn: arn,
      PolicyDocument: spec['policyDocument'] as string,
      SetAsDefault: true,
    })
    return { ...observed, spec: { ...observed.spec, policyDocument: spec['policyDocument'] as string } }
  }

  async delete(_spec: JsonObject, { arn }: Observed): Promise<void> {
    for (const { IsDefaultVersion, VersionId } of await this.#versions(arn))
      if (IsDefaultVersion !== true) await found(this.#api.call('DeletePolicyVersion', { PolicyArn: arn, VersionId }))
    await this.#api.call('DeletePolicy', { PolicyArn: arn })
  }

  #versions(arn: string | undefined): Promise<readonly ApiObject[]> {
    return listAll<ApiObject>(this.#api, 'ListPolicyVersions', { PolicyArn: arn }, 'Versions')
  }

  async #arnOf(spec: JsonObject): Promise<string | undefined> {
    const { name, path = '/' } = spec
    if (typeof name !== 'string') return undefined
    const input = { Scope: 'Local', PathPrefix: path as string }
    const policies = await listAll<ApiObject>(this.#api, 'ListPolicies', input, 'Policies')
    return policies.find(({ PolicyName, Path }) => PolicyName === name && Path === path)?.['Arn'] as string | undefined
  }

  #observed(policy: ApiObject, more: JsonObject): Observed {
    const fields = toFields(serviceModel('iam'), 'Policy', policy, renames)
    return {
      spec: { ...pick(fields, ['description', 'name', 'path']), ...more },
      status: pick(fields, this.#statusFields),
      arn: policy['Arn'] as string,
      tags: tagsFrom(policy['Tags']),
    }
  }
}

function versionNumber({ VersionId }: ApiObject): number {
  return Number(String(VersionId).replace(/^v/, ''))
}
