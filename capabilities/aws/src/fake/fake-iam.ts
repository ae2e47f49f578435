// IAM of the fake: roles and managed policies with the operations that the controllers use.
import { FakeError } from './fake-error.ts'
import type { FakeContext, Fields } from './fake-context.ts'

interface Tag {
  readonly Key: string
  readonly Value: string
}

interface Role {
  readonly fields: Fields
  readonly createdAt: number
  readonly attached: readonly string[]
  readonly inline: ReadonlyMap<string, string>
  readonly tags: readonly Tag[]
}

interface PolicyVersion {
  readonly id: string
  readonly document: string
}

interface Policy {
  readonly fields: Fields
  readonly createdAt: number
  readonly versions: readonly PolicyVersion[]
  readonly defaultVersion: string
  readonly tags: readonly Tag[]
}

function missing(message: string): FakeError {
  return new FakeError('NoSuchEntity', message, 404)
}

function checkDocument(document: unknown): string {
  try {
    JSON.parse(String(document))
  } catch {
    throw new FakeError('MalformedPolicyDocument', 'This policy contains invalid Json')
  }
  return String(document)
}

function tagged(before: readonly Tag[], added: unknown): readonly Tag[] {
  // The query protocol spells an empty list as an empty string.
  const tags = Array.isArray(added) ? (added as readonly Tag[]) : []
  const keys = new Set(tags.map(({ Key }) => Key))
  return [...before.filter(({ Key }) => !keys.has(Key)), ...tags]
}

function untagged(before: readonly Tag[], keys: unknown): readonly Tag[] {
  return before.filter(({ Key }) => !(Array.isArray(keys) && keys.includes(Key)))
}

/** The IAM of one account. */
export class FakeIam {
  readonly #context: FakeContext
  readonly #roles = new Map<string, Role>()
  readonly #policies = new Map<string, Policy>()
  #made = 0

  constructor(context: FakeContext) {
    this.#context = context
  }

  /** Returns the role of an ARN and when it was created; undefined when there is none. */
  roleOf(arn: string): { readonly createdAt: number } | undefined {
    return [...this.#roles.values()].find(({ fields }) => fields['Arn'] === arn)
  }

  reset(): void {
    this.#roles.clear()
    this.#policies.clear()
  }

  /** Operations by their names. */
  readonly operations: Readonly<Record<string, (input: Fields) => Fields>> = {
    CreateRole: (input) => this.#createRole(input),
    GetRole: (input) => {
      const role = this.#role(input)
      if (!this.#isVisible(role.createdAt))
        throw missing(`The role with name ${String(input['RoleName'])} cannot be found.`)
      return { Role: this.#describeRole(role) }
    },
    UpdateRole: (input) => {
      const { Description, MaxSessionDuration } = input
      this.#change(input, (role) => ({
        ...role,
        fields: { ...role.fields, Description, MaxSessionDuration: Number(MaxSessionDuration ?? 3600) },
      }))
      return {}
    },
    UpdateAssumeRolePolicy: (input) => {
      const document = checkDocument(input['PolicyDocument'])
      this.#change(input, (role) => ({ ...role, fields: { ...role.fields, AssumeRolePolicyDocument: document } }))
      return {}
    },
    PutRolePermissionsBoundary: (input) => {
      const boundary = input['PermissionsBoundary']
      this.#policy(boundary)
      this.#change(input, (role) => ({ ...role, fields: { ...role.fields, PermissionsBoundary: boundary } }))
      return {}
    },
    DeleteRolePermissionsBoundary: (input) => {
      this.#change(input, (role) => ({ ...role, fields: { ...role.fields, PermissionsBoundary: undefined } }))
      return {}
    },
    TagRole: (input) => {
      this.#change(input, (role) => ({ ...role, tags: tagged(role.tags, input['Tags']) }))
      return {}
    },
    UntagRole: (input) => {
      this.#change(input, (role) => ({ ...role, tags: untagged(role.tags, input['TagKeys']) }))
      return {}
    },
    DeleteRole: (input) => {
      const { attached, inline } = this.#role(input)
      if (attached.length > 0 || inline.size > 0)
        throw new FakeError(
          'DeleteConflict',
          `Cannot delete entity, must ${attached.length > 0 ? 'detach all' : 'delete'} policies first.`,
          409,
        )
      this.#roles.delete(String(input['RoleName']))
      return {}
    },
    AttachRolePolicy: (input) => {
      const arn = String(input['PolicyArn'])
      this.#policy(arn)
      this.#change(input, (role) => ({ ...role, attached: [...role.attached.filter((one) => one !== arn), arn] }))
      return {}
    },
    DetachRolePolicy: (input) => {
      const arn = String(input['PolicyArn'])
      if (!this.#role(input).attached.includes(arn)) throw missing(`Policy ${arn} was not found.`)
      this.#change(input, (role) => ({ ...role, attached: role.attached.filter((one) => one !== arn) }))
      return {}
    },
    ListAttachedRolePolicies: (input) => ({
      AttachedPolicies: this.#role(input).attached.map((arn) => ({
        PolicyArn: arn,
        PolicyName: arn.slice(arn.lastIndexOf('/') + 1),
      })),
      IsTruncated: false,
    }),
    PutRolePolicy: (input) => {
      const document = checkDocument(input['PolicyDocument'])
      const name = String(input['PolicyName'])
      this.#change(input, (role) => ({ ...role, inline: new Map([...role.inline, [name, document]]) }))
      return {}
    },
    GetRolePolicy: (input) => {
      const name = String(input['PolicyName'])
      const document = this.#role(input).inline.get(name)
      if (document === undefined) throw missing(`The role policy with name ${name} cannot be found.`)
      return { RoleName: input['RoleName'], PolicyName: name, PolicyDocument: encodeURIComponent(document) }
    },
    DeleteRolePolicy: (input) => {
      const name = String(input['PolicyName'])
      const role = this.#role(input)
      if (!role.inline.has(name)) throw missing(`The role policy with name ${name} cannot be found.`)
      this.#change(input, () => ({ ...role, inline: new Map([...role.inline].filter(([one]) => one !== name)) }))
      return {}
    },
    ListRolePolicies: (input) => ({ PolicyNames: [...this.#role(input).inline.keys()], IsTruncated: false }),
    CreatePolicy: (input) => this.#createPolicy(input),
    GetPolicy: (input) => {
      const policy = this.#policy(input['PolicyArn'])
      if (!this.#isVisible(policy.createdAt)) throw missing(`Policy ${String(input['PolicyArn'])} was not found.`)
      return { Policy: this.#describePolicy(policy) }
    },
    ListPolicies: (input) => ({
      Policies: [...this.#policies.values()]
        .filter(({ createdAt }) => this.#isVisible(createdAt))
        .map((policy) => this.#describePolicy(policy))
        .filter(({ Path }) => String(Path).startsWith(String(input['PathPrefix'] ?? '/'))),
      IsTruncated: false,
    }),
    ListPolicyVersions: (input) => {
      const { versions, defaultVersion } = this.#policy(input['PolicyArn'])
      return {
        Versions: versions.map(({ id }) => ({ VersionId: id, IsDefaultVersion: id === defaultVersion })),
        IsTruncated: false,
      }
    },
    GetPolicyVersion: (input) => {
      const { versions, defaultVersion } = this.#policy(input['PolicyArn'])
      const found = versions.find(({ id }) => id === input['VersionId'])
      if (found === undefined) throw missing(`Policy version ${String(input['VersionId'])} was not found.`)
      const { id, document } = found
      return {
        PolicyVersion: {
          VersionId: id,
          Document: encodeURIComponent(document),
          IsDefaultVersion: id === defaultVersion,
        },
      }
    },
    CreatePolicyVersion: (input) => {
      const arn = String(input['PolicyArn'])
      const policy = this.#policy(arn)
      if (policy.versions.length >= 5)
        throw new FakeError('LimitExceeded', 'A managed policy can have up to 5 versions.', 409)
      const last = Math.max(...policy.versions.map(({ id }) => Number(id.slice(1))))
      const version = { id: `v${last + 1}`, document: checkDocument(input['PolicyDocument']) }
      const isDefault = String(input['SetAsDefault']) === 'true'
      this.#policies.set(arn, {
        ...policy,
        versions: [...policy.versions, version],
        defaultVersion: isDefault ? version.id : policy.defaultVersion,
      })
      return { PolicyVersion: { VersionId: version.id, IsDefaultVersion: isDefault } }
    },
    DeletePolicyVersion: (input) => {
      const arn = String(input['PolicyArn'])
      const policy = this.#policy(arn)
      if (policy.defaultVersion === input['VersionId'])
        throw new FakeError('DeleteConflict', 'Cannot delete the default version of a policy.', 409)
      this.#policies.set(arn, { ...policy, versions: policy.versions.filter(({ id }) => id !== input['VersionId']) })
      return {}
    },
    DeletePolicy: (input) => {
      const arn = String(input['PolicyArn'])
      const { versions } = this.#policy(arn)
      if (this.#uses(arn) > 0)
        throw new FakeError('DeleteConflict', 'Cannot delete a policy attached to entities.', 409)
      if (versions.length > 1)
        throw new FakeError(
          'DeleteConflict',
          'This policy has more than one version. Before you delete a policy, you must delete its other versions.',
          409,
        )
      this.#policies.delete(arn)
      return {}
    },
    TagPolicy: (input) => {
      const arn = String(input['PolicyArn'])
      const policy = this.#policy(arn)
      this.#policies.set(arn, { ...policy, tags: tagged(policy.tags, input['Tags']) })
      return {}
    },
    UntagPolicy: (input) => {
      const arn = String(input['PolicyArn'])
      const policy = this.#policy(arn)
      this.#policies.set(arn, { ...policy, tags: untagged(policy.tags, input['TagKeys']) })
      return {}
    },
  }

  #createRole(input: Fields): Fields {
    const name = String(input['RoleName'])
    if (this.#roles.has(name)) throw new FakeError('EntityAlreadyExists', `Role with name ${name} already exists.`, 409)
    const path = String(input['Path'] ?? '/')
    const boundary = input['PermissionsBoundary']
    if (boundary !== undefined) this.#policy(boundary)
    const now = this.#context.now()
    const role: Role = {
      fields: {
        Path: path,
        RoleName: name,
        RoleId: `AROA${String(++this.#made).padStart(17, '0')}`,
        Arn: `arn:aws:iam::${this.#context.account}:role${path}${name}`,
        CreateDate: new Date(now),
        AssumeRolePolicyDocument: checkDocument(input['AssumeRolePolicyDocument']),
        Description: input['Description'],
        MaxSessionDuration: Number(input['MaxSessionDuration'] ?? 3600),
        PermissionsBoundary: boundary,
      },
      createdAt: now,
      attached: [],
      inline: new Map(),
      tags: tagged([], input['Tags']),
    }
    this.#roles.set(name, role)
    return { Role: this.#describeRole(role) }
  }

  #describeRole({ fields, tags }: Role): Fields {
    const { PermissionsBoundary, AssumeRolePolicyDocument, ...rest } = fields
    return {
      ...rest,
      AssumeRolePolicyDocument: encodeURIComponent(String(AssumeRolePolicyDocument)),
      ...(PermissionsBoundary === undefined
        ? {}
        : {
            PermissionsBoundary: {
              PermissionsBoundaryType: 'Policy',
              PermissionsBoundaryArn: PermissionsBoundary,
            },
          }),
      Tags: tags,
    }
  }

  #createPolicy(input: Fields): Fields {
    const name = String(input['PolicyName'])
    const path = String(input['Path'] ?? '/')
    const arn = `arn:aws:iam::${this.#context.account}:policy${path}${name}`
    if (this.#policies.has(arn))
      throw new FakeError(
        'EntityAlreadyExists',
        `A policy called ${name} already exists. Duplicate names are not allowed.`,
        409,
      )
    const createdAt = this.#context.now()
    const now = new Date(createdAt)
    const policy: Policy = {
      createdAt,
      fields: {
        PolicyName: name,
        PolicyId: `ANPA${String(++this.#made).padStart(17, '0')}`,
        Arn: arn,
        Path: path,
        Description: input['Description'],
        IsAttachable: true,
        CreateDate: now,
        UpdateDate: now,
      },
      versions: [{ id: 'v1', document: checkDocument(input['PolicyDocument']) }],
      defaultVersion: 'v1',
      tags: tagged([], input['Tags']),
    }
    this.#policies.set(arn, policy)
    const { Description: _description, ...described } = this.#describePolicy(policy)
    return { Policy: described }
  }

  #describePolicy({ fields, defaultVersion, tags }: Policy): Fields {
    return {
      ...fields,
      DefaultVersionId: defaultVersion,
      AttachmentCount: this.#uses(String(fields['Arn'])),
      PermissionsBoundaryUsageCount: 0,
      Tags: tags,
    }
  }

  #uses(arn: string): number {
    return [...this.#roles.values()].filter(({ attached }) => attached.includes(arn)).length
  }

  #isVisible(createdAt: number): boolean {
    return this.#context.now() >= createdAt + this.#context.script().iamVisibility
  }

  #role(input: Fields): Role {
    const name = String(input['RoleName'])
    const role = this.#roles.get(name)
    if (role === undefined) throw missing(`The role with name ${name} cannot be found.`)
    return role
  }

  #policy(arn: unknown): Policy {
    const policy = this.#policies.get(String(arn))
    if (policy === undefined) throw missing(`Policy ${String(arn)} does not exist or is not attachable.`)
    return policy
  }

  #change(input: Fields, change: (role: Role) => Role): void {
    this.#roles.set(String(input['RoleName']), change(this.#role(input)))
  }
}
