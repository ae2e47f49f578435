// The calls of roles: the role, its trust policy, its boundary, and the policies that are attached or inline.
import type { JsonObject } from '@fairlead/kube'
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import { isSameDocument } from '../engine/delta.ts'
import type { Change, Observed, ResourceManager, TagChange } from '../engine/resource-manager.ts'
import { serviceModel } from '../engine/service-model.ts'
import { changeTags, decodedDocument, found, listAll, tagList, tagsFrom } from './iam-policies.ts'
import type { ApiObject, ServiceApi } from './service-api.ts'
import { pick, toFields, toInput } from './shape-mapping.ts'
import { statusFields } from './status-fields.ts'

const renames = { RoleName: 'Name' }
const specFields = [
  'assumeRolePolicyDocument',
  'description',
  'maxSessionDuration',
  'name',
  'path',
  'permissionsBoundary',
]

/** Makes the calls for roles. */
export class RoleManager implements ResourceManager {
  readonly #api: ServiceApi
  readonly #statusFields = statusFields('Role')

  constructor(api: ServiceApi) {
    this.#api = api
  }

  async read(spec: JsonObject): Promise<Observed | undefined> {
    const name = spec['name']
    if (typeof name !== 'string') return undefined
    const output = await found(this.#api.call('GetRole', { RoleName: name }))
    if (output === undefined) return undefined
    const observed = this.#observed(output['Role'] as ApiObject)
    return {
      ...observed,
      spec: {
        ...observed.spec,
        policies: inOrder(await this.#attached(name), spec['policies']),
        inlinePolicies: asWritten(await this.#inline(name), spec['inlinePolicies']),
      },
    }
  }

  async tags({ spec }: Observed): Promise<Readonly<Record<string, string>>> {
    const output = await this.#api.call('GetRole', { RoleName: spec['name'] as string })
    return tagsFrom((output['Role'] as ApiObject)['Tags'])
  }

  tag({ spec }: Observed, change: TagChange): Promise<void> {
    return changeTags(this.#api, 'Role', { RoleName: spec['name'] as string }, change)
  }

  async create(spec: JsonObject, tags: Readonly<Record<string, string>>): Promise<Observed> {
    const model = serviceModel('iam')
    const input = toInput(model, model.operations.get('CreateRole')?.input as string, spec, renames)
    const output = await this.#api.call('CreateRole', { ...input, Tags: tagList(input['Tags'], tags) })
    const observed = this.#observed(output['Role'] as ApiObject)
    // What the creation was given it has; its output leaves some of it out.
    const given = pick(spec, ['assumeRolePolicyDocument', 'description', 'maxSessionDuration', 'permissionsBoundary'])
    return { ...observed, spec: { ...observed.spec, ...given } }
  }

  async update({ spec, observed, fields }: Change): Promise<Observed> {
    const RoleName = spec['name'] as string
    const changed = (...names: readonly string[]): boolean => names.some((name) => fields.includes(name))
    if (changed('description', 'maxSessionDuration'))
      await this.#api.call('UpdateRole', {
        RoleName,
        Description: (spec['description'] ?? '') as string,
        MaxSessionDuration: (spec['maxSessionDuration'] ?? observed.spec['maxSessionDuration'] ?? 3600) as number,
      })
    if (changed('assumeRolePolicyDocument'))
      await this.#api.call('UpdateAssumeRolePolicy', {
        RoleName,
        PolicyDocument: spec['assumeRolePolicyDocument'] as string,
      })
    if (changed('permissionsBoundary')) await this.#setBoundary(RoleName, spec['permissionsBoundary'])
    if (changed('policies')) await this.#attach(RoleName, strings(spec['policies']), strings(observed.spec['policies']))
    if (changed('inlinePolicies'))
      await this.#put(RoleName, documents(spec['inlinePolicies']), documents(observed.spec['inlinePolicies']))
    return (await this.read(spec)) ?? observed
  }

  async delete(spec: JsonObject, { spec: observed }: Observed): Promise<void> {
    const RoleName = spec['name'] as string
    await this.#attach(RoleName, [], strings(observed['policies']))
    await this.#put(RoleName, {}, documents(observed['inlinePolicies']))
    await this.#api.call('DeleteRole', { RoleName })
  }

  #observed(role: ApiObject): Observed {
    const fields = toFields(serviceModel('iam'), 'Role', role, renames)
    const boundary = role['PermissionsBoundary'] as ApiObject | undefined
    const { permissionsBoundary: _boundary, ...rest } = fields
    return {
      spec: {
        ...pick(rest, specFields),
        assumeRolePolicyDocument: decodedDocument(role['AssumeRolePolicyDocument']),
        ...(boundary === undefined ? {} : { permissionsBoundary: boundary['PermissionsBoundaryArn'] as string }),
      },
      status: pick(fields, this.#statusFields),
      arn: role['Arn'] as string,
      tags: tagsFrom(role['Tags']),
    }
  }

  async #attached(RoleName: string): Promise<readonly string[]> {
    const attached = await listAll<ApiObject>(this.#api, 'ListAttachedRolePolicies', { RoleName }, 'AttachedPolicies')
    return attached.map(({ PolicyArn }) => PolicyArn as string)
  }

  async #inline(RoleName: string): Promise<Readonly<Record<string, string>>> {
    const names = await listAll<string>(this.#api, 'ListRolePolicies', { RoleName }, 'PolicyNames')
    const entries: [string, string][] = []
    for (const PolicyName of names) {
      const output = await found(this.#api.call('GetRolePolicy', { RoleName, PolicyName }))
      if (output !== undefined) entries.push([PolicyName, decodedDocument(output['PolicyDocument'])])
    }
    return Object.fromEntries(entries)
  }

  async #setBoundary(RoleName: string, boundary: unknown): Promise<void> {
    if (typeof boundary === 'string' && boundary !== '')
      await this.#api.call('PutRolePermissionsBoundary', { RoleName, PermissionsBoundary: boundary })
    else await found(this.#api.call('DeleteRolePermissionsBoundary', { RoleName }))
  }

  async #attach(RoleName: string, wanted: readonly string[], actual: readonly string[]): Promise<void> {
    for (const PolicyArn of new Set(wanted))
      if (!actual.includes(PolicyArn)) await this.#api.call('AttachRolePolicy', { RoleName, PolicyArn })
    for (const PolicyArn of actual)
      if (!wanted.includes(PolicyArn)) await found(this.#api.call('DetachRolePolicy', { RoleName, PolicyArn }))
  }

  async #put(
    RoleName: string,
    wanted: Readonly<Record<string, string>>,
    actual: Readonly<Record<string, string>>,
  ): Promise<void> {
    for (const [PolicyName, PolicyDocument] of Object.entries(wanted))
      if (actual[PolicyName] !== PolicyDocument)
        await this.#api.call('PutRolePolicy', { RoleName, PolicyName, PolicyDocument })
    for (const PolicyName of Object.keys(actual))
      if (!Object.hasOwn(wanted, PolicyName)) await found(this.#api.call('DeleteRolePolicy', { RoleName, PolicyName }))
  }
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : []
}

function documents(value: unknown): Readonly<Record<string, string>> {
  return (value ?? {}) as Readonly<Record<string, string>>
}

/** Returns what is attached in the order of the spec, whose lists have an order of their own. */
function inOrder(actual: readonly string[], wanted: JsonObject[string] | undefined): readonly string[] {
  const order = isJsonArray(wanted) ? (wanted as readonly string[]) : []
  return [...order.filter((one) => actual.includes(one)), ...actual.filter((one) => !order.includes(one)).toSorted()]
}

/** Returns the documents as the spec writes them where they mean the same. */
function asWritten(
  actual: Readonly<Record<string, string>>,
  wanted: JsonObject[string] | undefined,
): Readonly<Record<string, string>> {
  const written = isJsonObject(wanted) ? wanted : {}
  return Object.fromEntries(
    Object.entries(actual).map(([name, document]) => {
      const own = written[name]
      return [name, typeof own === 'string' && isSameDocument(own, document) ? own : document]
    }),
  )
}
