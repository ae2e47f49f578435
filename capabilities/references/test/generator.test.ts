// The generator: names, strict configurations, schemas, references, and the command that writes files.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, memory } from '@fairlead/apiserver'
import { installDefinitions } from '@fairlead/controller'
import type { CommandContext } from '@fairlead/controller'
import { parseYaml } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline'
import {
  GeneratorError,
  fieldName,
  generate,
  kindName,
  readGeneratorConfig,
  readSmithyModel,
  classify,
  referenceName,
} from '@fairlead/references/generator'
import type { GenerateOptions, Generated } from '@fairlead/references/generator'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { generatorCommands } from '../src/commands/generate.ts'

const field = (target: string, traits: JsonObject = {}): JsonObject => ({ target: `a.b#${target}`, traits })
const required = { 'smithy.api#required': {} }

/** A service with one kind that refers to another in a field, in a list and in a list of structures. */
const ast: JsonValue = {
  shapes: {
    'a.b#CreateBook': {
      type: 'operation',
      input: { target: 'a.b#CreateBookRequest' },
      output: { target: 'a.b#CreateBookResponse' },
    },
    'a.b#CreateBookRequest': {
      type: 'structure',
      members: {
        Name: field('Name', {
          ...required,
          'smithy.api#documentation': '<p>The <b>name</b> &amp; title.</p><ul><li>one</li></ul>',
        }),
        AuthorArn: field('Arn', required),
        ShelfIds: field('Ids'),
        Chapters: field('Chapters'),
        Token: field('Arn', { 'smithy.api#idempotencyToken': {} }),
      },
    },
    'a.b#CreateBookResponse': { type: 'structure', members: { BookArn: field('Arn'), State: field('State') } },
    'a.b#Name': {
      type: 'string',
      traits: { 'smithy.api#length': { min: 1, max: 9 }, 'smithy.api#pattern': '^(?!x)a' },
    },
    'a.b#Arn': { type: 'string', traits: { 'smithy.api#pattern': '^arn:.*$' } },
    'a.b#Ids': { type: 'list', member: { target: 'a.b#Arn' }, traits: { 'smithy.api#length': { max: 5 } } },
    'a.b#Chapters': { type: 'list', member: { target: 'a.b#Chapter' } },
    'a.b#Chapter': { type: 'structure', members: { Title: field('Name', required), EditorId: field('Arn') } },
    'a.b#State': {
      type: 'enum',
      members: { OPEN: field('Unit', { 'smithy.api#enumValue': 'Open' }), SHUT: field('Unit') },
    },
  },
}
const config: JsonObject = {
  resources: {
    Book: {
      ignore_idempotency_token: true,
      fields: {
        AuthorArn: {
          references: { resource: 'Author', service_name: 'people', path: 'Status.ACKResourceMetadata.ARN' },
        },
        ShelfIds: { references: { resource: 'Shelf', path: 'Spec.Name' } },
        'Chapters.EditorId': {
          references: { resource: 'Author', service_name: 'people', path: 'Spec.Name', wait_for: 'Value' },
        },
        Name: { is_immutable: true },
      },
    },
  },
}

function made(given: JsonObject = config, options: Partial<GenerateOptions> = {}): Generated {
  return generate({ model: readSmithyModel(ast), config: readGeneratorConfig(given), service: 'library', ...options })
}

function errorOf(given: JsonObject): string {
  try {
    made(given)
  } catch (error) {
    if (error instanceof GeneratorError) return `${error.code}: ${error.message}`
    throw error
  }
  return 'none'
}

describe('names', () => {
  test.each([
    ['KmsKeyId', 'kmsKeyID'],
    ['ExecutionRoleArn', 'executionRoleARN'],
    ['VpcConfig', 'vpcConfig'],
    ['SSEKMSKeyId', 'sseKMSKeyID'],
    ['ModelDataUrl', 'modelDataURL'],
    ['DbiResourceId', 'dbiResourceID'],
    ['HTTPSPort', 'httpsPort'],
    ['Identifier', 'identifier'],
    ['Ids', 'ids'],
    ['SecurityGroupIds', 'securityGroupIDs'],
    ['MultipartUpload', 'multipartUpload'],
    ['EnableCors', 'enableCORS'],
    ['S3Uri', 's3URI'],
    ['Ec2InstanceType', 'ec2InstanceType'],
    ['IPv6Cidr', 'ipv6CIDR'],
    ['IdleTimeout', 'idleTimeout'],
  ])('the field %s is %s', (name, expected) => expect(fieldName(name)).toBe(expected))

  test('kinds have capitals', () =>
    expect(['Vpc', 'DhcpOptions', 'Model'].map(kindName)).toEqual(['VPC', 'DHCPOptions', 'Model']))

  test.each([
    ['EndpointConfigName', false, 'endpointConfigRef'],
    ['ExecutionRoleArn', false, 'executionRoleRef'],
    ['SecurityGroupIds', true, 'securityGroupRefs'],
    ['Subnets', true, 'subnetRefs'],
    ['Uuid', false, 'uuidRef'],
    ['Arn', false, undefined],
  ])('the reference of %s in the naming of ACK', (name, list, expected) =>
    expect(referenceName(name, list, 'ack')).toBe(expected),
  )
})

test.each([
  ['CreateDhcpOptions', 'Create', 'DhcpOptions'],
  ['BatchCreateDhcpOptions', 'CreateBatch', 'DhcpOptions'],
  ['DescribeDhcpOptions', 'List', 'DhcpOptions'],
  ['GetDhcpOptions', 'Get', 'DhcpOptions'],
  ['ListDhcpOptions', 'List', 'DhcpOptions'],
  ['DescribeVpcs', 'List', 'Vpc'],
  ['GetVpcs', 'List', 'Vpc'],
])('a resource with a plural name that the configuration lists: %s is %s of %s', (id, type, resource) => {
  const config = readGeneratorConfig({ resources: { DHCPOptions: {} } })
  expect(classify(id, config)).toEqual([{ type, resource }])
})

describe('a generated kind', () => {
  test('shows whether its references are resolved in the column REFS', () => {
    const crd = made().kinds[0]?.crd as unknown as {
      readonly spec: { readonly versions: readonly [{ readonly additionalPrinterColumns: readonly JsonObject[] }] }
    }
    expect(crd.spec.versions[0].additionalPrinterColumns).toContainEqual({
      name: 'REFS',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="ACK.ReferencesResolved")].status',
    })
  })

  test('splits spec and status, takes references, and keeps what the API requires', () => {
    const { kinds, rbac, cycles } = made()
    expect(kinds.map(({ kind, plural }) => [kind, plural])).toEqual([['Book', 'books']])
    const [book] = kinds
    expect(book?.references).toMatchObject([
      {
        fieldPath: 'authorARN',
        refPath: 'authorARNRef',
        required: true,
        group: 'people.services.k8s.aws',
        valuePath: 'status.ackResourceMetadata.arn',
      },
      { fieldPath: 'chapters[].editorID', refPath: 'chapters[].editorIDRef', waitFor: 'Value', sourceSection: 'spec' },
      { fieldPath: 'shelfIDs', refPath: 'shelfIDsRefs', list: true, group: 'library.services.k8s.aws' },
    ])
    expect(book?.rules).toEqual([{ at: 'Book.spec', fields: ['authorARN', 'authorARNRef'] }])
    const { openAPIV3Schema } = (
      book?.crd['spec'] as { versions: readonly [{ schema: { openAPIV3Schema: JsonObject } }] }
    ).versions[0].schema
    const { spec, status } = openAPIV3Schema['properties'] as unknown as Record<
      string,
      { properties: JsonObject; required: unknown }
    >
    expect(spec?.required).toEqual(['name'])
    // The pattern has a look-ahead, which no Kubernetes API server can evaluate.
    expect(spec?.properties['name']).toEqual({
      description: 'The name & title.\n- one',
      type: 'string',
      minLength: 1,
      maxLength: 9,
      'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'Value is immutable once set' }],
    })
    expect(spec?.properties['token']).toBeUndefined()
    expect(status?.properties['state']).toEqual({
      description: 'Field State in the response of CreateBook in the API of library.',
      type: 'string',
    })
    expect(rbac).toEqual([
      {
        apiGroups: ['people.services.k8s.aws'],
        resources: ['authors', 'authors/status'],
        verbs: ['get', 'list', 'watch'],
      },
    ])
    expect(cycles).toEqual([])
  })

  test('is accepted by an API server, and refuses what its rules forbid', async () => {
    await using server = await ApiServer.start({ storage: memory() })
    const client = server.client({ manager: 'kubectl' })
    await installDefinitions(client, [made().kinds[0]?.crd as KubeObject])
    const book = (name: string, spec: JsonObject): KubeObject => ({
      apiVersion: 'library.services.k8s.aws/v1alpha1',
      kind: 'Book',
      metadata: { name, namespace: 'default' },
      spec: { name: 'a', ...spec },
    })
    await client.create(book('plain', { authorARN: 'arn:x' }))
    await client.create(book('reference', { authorARNRef: { name: 'melville' } }))
    await client.create(book('external', { authorARNRef: { externalIdentifiers: { arn: 'arn:x' } } }))
    for (const [spec, message] of [
      [{}, 'one of authorARN and authorARNRef must be set'],
      [{ authorARNRef: {} }, 'exactly one of name, from'],
      [{ authorARNRef: { name: 'a', external: 'b' } }, 'exactly one of name, from'],
      [{ authorARNRef: { external: 'b', namespace: 'c' } }, 'namespace is allowed only beside name'],
      [{ authorARN: 'no' }, 'spec.authorARN in body should match'],
    ] as const)
      await expect(client.create(book('wrong', spec as JsonObject))).rejects.toThrow(message)
  })
})

describe('a configuration of references', () => {
  const reference = (more: JsonObject, top: JsonObject = {}): JsonObject => ({
    ...top,
    resources: {
      Book: { fields: { AuthorArn: { references: { resource: 'Author', path: 'Status.ARN', ...more } } } },
    },
  })

  test.each([
    ['an ARN', { path: 'Status.ACKResourceMetadata.ARN' }, 'arn'],
    ['a name', { path: 'Spec.AuthorName' }, 'name'],
    ['a plain name', { path: 'Spec.Name' }, 'name'],
    ['an id', { path: 'Status.AuthorID' }, 'id'],
    ['what is said', { path: 'Status.AuthorID', identifier: 'arn' }, 'arn'],
    ['a UUID', { path: 'Status.UUID' }, undefined],
    ['something else', { path: 'Status.Hostname' }, undefined],
    ['a part of it', { path: 'Status.AuthorID', format: 'authors/{value}' }, undefined],
    ['the same of each kind', { path: 'Spec.Name', kinds: [{ resource: 'Team', path: 'Spec.TeamName' }] }, 'name'],
    ['either', { path: 'Spec.Name', kinds: [{ resource: 'Team', path: 'Status.TeamID' }] }, undefined],
  ])('takes only the sort of identifier that the value is: %s', (_, more, sort) => {
    const [book] = made(reference(more)).kinds
    expect(book?.references[0]?.identifier).toBe(sort)
    const crd = JSON.stringify(book?.crd)
    const taken = ['arn', 'name', 'id'].filter((one) =>
      crd.includes(`"description":"${{ arn: 'ARN', name: 'Name', id: 'Id' }[one]} of the resource."`),
    )
    expect(taken).toEqual(sort === undefined ? ['arn', 'name', 'id'] : [sort])
  })

  test('names the naming and the reaction for the whole file', () => {
    const [book] = made(reference({}, { ref_naming: 'ack', both_set: 'reject' })).kinds
    expect(book?.references).toMatchObject([{ refPath: 'authorRef', bothSet: 'reject' }])
  })

  test('lists the fields that the service fills in where the spec has them, by their names there', () => {
    const late = { late_initialize: { min_backoff_seconds: 5, skip_incomplete_check: {} } }
    const fields = { ShelfIds: late, 'Chapters.EditorId': { late_initialize: null }, State: late, Missing: late }
    const [book] = made({ resources: { Book: { fields } } }).kinds
    expect(book?.lateInitialized).toEqual(['chapters.editorID', 'shelfIDs'])
  })

  test('takes further kinds, a template and the sort of an identifier', async () => {
    const more = {
      kinds: [{ resource: 'Team', service_name: 'people', path: 'Spec.Name' }],
      format: 'arn:{value}',
      identifier: 'arn',
    }
    const { kinds, rbac } = made(reference(more))
    expect(kinds[0]?.references).toMatchObject([
      {
        kind: 'Author',
        format: 'arn:{value}',
        identifier: 'arn',
        kinds: [{ group: 'people.services.k8s.aws', version: 'v1alpha1', kind: 'Team', valuePath: 'spec.name' }],
      },
    ])
    expect(rbac).toMatchObject([{ apiGroups: ['people.services.k8s.aws'], resources: ['teams', 'teams/status'] }])
    await using server = await ApiServer.start({ storage: memory() })
    const client = server.client({ manager: 'kubectl' })
    await installDefinitions(client, [kinds[0]?.crd as KubeObject])
    const book = (name: string, authorARNRef: JsonObject): KubeObject => ({
      apiVersion: 'library.services.k8s.aws/v1alpha1',
      kind: 'Book',
      metadata: { name, namespace: 'default' },
      spec: { name: 'a', authorARNRef },
    })
    await client.create(book('team', { kind: 'Team', name: 'a' }))
    await client.create(book('from', { from: { kind: 'Author', name: 'a' } }))
    for (const [wrong, message] of [
      [{ kind: 'Other', name: 'a' }, 'Unsupported value'],
      [{ kind: 'Team', external: 'a' }, 'kind is allowed only beside name'],
      [{ externalIdentifiers: { id: 'a' } }, 'unknown field'],
    ] as const)
      await expect(client.create(book('wrong', wrong), { fieldValidation: 'Strict' })).rejects.toThrow(message)
  })

  test('is checked against the schemas of its own kinds and of given ones', () => {
    const own = (path: string): JsonObject => reference({ resource: 'Book', path })
    expect(made(own('Spec.NAME')).kinds[0]?.references).toMatchObject([{ valuePath: 'spec.name' }])
    expect(errorOf(own('Spec.Nothing'))).toContain(
      'Book.spec.authorARN: references: spec.nothing: Book.spec has no field',
    )
    expect(errorOf(own('Spec.Chapters'))).toContain('it must be a string')
    const referents = made({}, { service: 'people' }).kinds.map(({ crd }) => crd)
    const given = reference({ resource: 'Book', service_name: 'people', path: 'Status.Nothing' })
    expect(() => made(given, { referents })).toThrow('Book.status has no field nothing')
  })

  test("of the seed's proposal runs as it is on a model with its fields", () => {
    const operations = ['Endpoint', 'Algorithm', 'App'].map((name): [string, JsonValue] => [
      `a.b#Create${name}`,
      { type: 'operation', input: { target: 'a.b#CreateInput' }, output: { target: 'a.b#CreateOutput' } },
    ])
    const shapes: JsonObject = {
      ...Object.fromEntries(operations),
      'a.b#CreateInput': {
        type: 'structure',
        members: { EndpointName: field('String'), IAMRole: field('String', required) },
      },
      'a.b#CreateOutput': { type: 'structure', members: { EndpointArn: field('String') } },
    }
    const seed = parseYaml(`
resources:
  Endpoint:
    references:
      IAMRole:
        value: Status.ackResourceMetadata.arn
        APIVersion: iam.services.k8s.aws/v1alpha1
        Kind: IAMRole
ignore:
    resource_names:
      - Algorithm
      - App
      - AutoMLJob
`)
    const { kinds } = generate({
      model: readSmithyModel({ shapes }),
      config: readGeneratorConfig(seed),
      service: 'sagemaker',
    })
    expect(kinds.map(({ kind, references, rules }) => ({ kind, references, rules }))).toEqual([
      {
        kind: 'Endpoint',
        references: [
          {
            fieldPath: 'iamRole',
            refPath: 'iamRoleRef',
            list: false,
            required: true,
            group: 'iam.services.k8s.aws',
            version: 'v1alpha1',
            kind: 'IAMRole',
            valuePath: 'status.ackResourceMetadata.arn',
            sourceSection: 'status',
            identifier: 'arn',
            waitFor: 'Synced',
            bothSet: 'prefer_external',
          },
        ],
        rules: [{ at: 'Endpoint.spec', fields: ['iamRole', 'iamRoleRef'] }],
      },
    ])
  })
})

describe('a wrong configuration', () => {
  const fieldOf = (name: string, value: JsonObject): JsonObject => ({
    resources: { Book: { fields: { [name]: value } } },
  })
  test.each<[string, JsonObject, string]>([
    ['an unknown key', { resource: {} }, 'InvalidConfig: generator.yaml: the file: unknown key resource'],
    [
      'an unknown key of late initialisation',
      fieldOf('Name', { late_initialize: { seconds: 5 } }),
      'fields.Name.late_initialize: unknown key seconds',
    ],
    ['an unknown key of a field', fieldOf('Name', { is_imutable: true }), 'unknown key is_imutable'],
    [
      'a wrong type',
      fieldOf('Name', { is_immutable: 'yes' }),
      'resources.Book.fields.Name.is_immutable: must be true or false',
    ],
    [
      'a reference without a path',
      fieldOf('AuthorArn', { references: { resource: 'Author' } }),
      'references.path: is required',
    ],
    [
      'a reference in a field that is missing',
      fieldOf('Nothing', { references: { resource: 'A', path: 'Spec.Name' } }),
      'InvalidReference: resources.Book.fields.Nothing.references: Book.spec has no field Nothing',
    ],
    [
      'a reference in a structure',
      fieldOf('Chapters', { references: { resource: 'A', path: 'Spec.Name' } }),
      'must be a string',
    ],
    [
      'a path outside spec and status',
      fieldOf('AuthorArn', { references: { resource: 'A', path: 'Metadata.Name' } }),
      'must begin with Spec or Status',
    ],
    [
      'both forms for one field',
      {
        resources: {
          Book: {
            references: { AuthorArn: { value: 'Status.ID', APIVersion: 'a/v1', Kind: 'A' } },
            fields: { AuthorArn: { references: { resource: 'A', path: 'Spec.Name' } } },
          },
        },
      },
      'has a reference under fields, too',
    ],
    ['a naming that does not exist', { ref_naming: 'snake' }, 'generator.yaml: ref_naming: must be one of seed, ack'],
    [
      'a template without the value',
      fieldOf('AuthorArn', { references: { resource: 'A', path: 'Spec.Name', format: 'x' } }),
      'references.format: must contain {value}',
    ],
    [
      'a further kind without a path',
      fieldOf('AuthorArn', { references: { resource: 'A', path: 'Spec.Name', kinds: [{ resource: 'B' }] } }),
      'references.kinds[0].path: is required',
    ],
    [
      'a guard without values',
      { resources: { Book: { updateable: { when: [{ path: 'Status.State', in: [] }] } } } },
      'must not be empty',
    ],
    [
      'a guard on a field that is missing',
      { resources: { Book: { updateable: { when: [{ path: 'Status.Nothing', in: ['x'] }] } } } },
      'Book has no field at Status.Nothing',
    ],
  ])('%s is an error that says where', (_, given, message) => expect(errorOf(given)).toContain(message))

  test('a shape that contains itself names the circle and the way out', () => {
    const shapes = {
      ...(ast as { shapes: JsonObject }).shapes,
      'a.b#Chapter': { type: 'structure', members: { Parts: field('Chapters') } },
    }
    expect(() =>
      generate({ model: readSmithyModel({ shapes }), config: readGeneratorConfig({}), service: 'library' }),
    ).toThrow('cyclic type reference: Chapters -> Chapter -> Chapters; cut it with ignore.field_paths')
  })
})

describe('fairlead generate crds', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-generate-'))
    writeFileSync(join(folder, 'model.json'), JSON.stringify(ast))
    writeFileSync(join(folder, 'generator.yaml'), JSON.stringify(config))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  async function run(
    options: Readonly<Record<string, unknown>>,
    name = 'crds',
  ): Promise<{ code: number; out: string; err: string }> {
    const [out, err]: [string[], string[]] = [[], []]
    const context = {
      arguments: [],
      options: { resource: [], referents: [], out: join(folder, 'out'), ...options },
      stdin: async () => '',
      out: (text: string) => void out.push(text),
      err: (text: string) => void err.push(text),
      client: () => Promise.reject(new Error('needs no cluster')),
      signal: new AbortController().signal,
    } satisfies CommandContext
    const code = await generatorCommands
      .find((one) => one.name === name)!
      .run(context)
      .catch((error: unknown) => {
        if (!(error instanceof CommandError)) throw error
        err.push(error.message)
        return error.exitCode
      })
    return { code, out: out.join('\n'), err: err.join('\n') }
  }
  const files = (): { config: string; model: string } => ({
    config: join(folder, 'generator.yaml'),
    model: join(folder, 'model.json'),
  })

  test('writes CRDs, the references manifest, rights and the graph, twice the same', async () => {
    expect(await run({ service: 'library', ...files() })).toEqual({
      code: 0,
      out: 'books.library.services.k8s.aws  Book  3 references',
      err: '',
    })
    const read = (): Record<string, string> =>
      Object.fromEntries(
        readdirSync(join(folder, 'out'), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'utf8')]),
      )
    const first = read()
    expect(Object.keys(first).toSorted()).toEqual([
      'controller.ts',
      'docs.md',
      'graph.dot',
      'graph.json',
      'graph.mmd',
      'kinds.ts',
      'library.services.k8s.aws_books.yaml',
      'rbac.yaml',
      'references.json',
      'types.ts',
    ])
    expect(first['graph.mmd']?.split('\n').slice(0, 5)).toEqual([
      'graph LR',
      '  n0["Book"]',
      '  n1["Author.people.services.k8s.aws"]',
      '  n2["Shelf"]',
      '  n0 -->|"authorARN"| n1',
    ])
    expect(first['docs.md']).toContain(
      '| `authorARN` | `authorARNRef` | `status.ackResourceMetadata.arn` of an Author (people.services.k8s.aws) | once it is synced; one of the two fields must be set |',
    )
    expect(first['docs.md']).toContain('| `name` | string, required | The name & title. - one |')
    expect(parseYaml(first['library.services.k8s.aws_books.yaml'] as string)).toEqual(made().kinds[0]?.crd)
    // The controller is the user's from now on.
    const controller = join(folder, 'out/controller.ts')
    writeFileSync(controller, 'mine')
    await run({ service: 'library', ...files() })
    expect(read()).toEqual({ ...first, 'controller.ts': 'mine' })
  })

  test.each<[string, Record<string, unknown>, number, string]>([
    ['no service', {}, 2, 'Name it: --service'],
    ['a service that is no package name', { service: '../x' }, 2, 'must be the package name'],
    [
      'a model that does not exist',
      { service: 'library', config: 'x', model: '/nowhere.json' },
      2,
      '/nowhere.json cannot be read',
    ],
  ])('%s is an error', async (_, options, code, message) => {
    const result = await run(options)
    expect([result.code, result.err]).toEqual([code, expect.stringContaining(message)])
  })

  const git = (...args: readonly string[]): void => {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false']
    execFileSync('git', ['-C', folder, ...identity, ...args], { stdio: 'pipe' })
  }

  test('check passes on what was committed, and names what is out of date and what breaks', async () => {
    const options = { service: 'library', ...files() }
    expect(await run(options, 'check')).toMatchObject({ code: 1, out: expect.stringContaining('types.ts: is missing') })
    git('init', '-q')
    await run(options)
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    const fine = 'library.services.k8s.aws: everything is up to date, and no CRD breaks what was valid before'
    expect(await run(options, 'check')).toEqual({ code: 0, err: '', out: fine })
    // Written anew, the files are up to date; the revision before still has objects with the field.
    const without = { resources: { Book: { fields: { Name: { is_immutable: true } } } } }
    writeFileSync(
      files().config,
      JSON.stringify({ ...without, ignore: { field_paths: ['CreateBookRequest.ShelfIds'] } }),
    )
    await run(options)
    const { code, out } = await run({ ...options, base: 'HEAD' }, 'check')
    expect(code).toBe(1)
    expect(out.split('\n')).toContain(
      'crd-compat: books.library.services.k8s.aws: v1alpha1: spec.shelfIDs: the field is removed',
    )
    expect(await run({ ...options, base: 'nowhere' }, 'check')).toMatchObject({ code: 2 })
  })

  test('a model that is no JSON is an error with its place', async () => {
    writeFileSync(join(folder, 'model.json'), '{"shapes": ')
    const { code, err } = await run({ service: 'library', ...files() })
    expect([code, err]).toEqual([1, expect.stringContaining('model.json')])
  })
})
