// The generator: names, strict configurations, schemas, references, and the command that writes files.
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

describe('a generated kind', () => {
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

describe('a wrong configuration', () => {
  const fieldOf = (name: string, value: JsonObject): JsonObject => ({
    resources: { Book: { fields: { [name]: value } } },
  })
  test.each<[string, JsonObject, string]>([
    ['an unknown key', { resource: {} }, 'InvalidConfig: generator.yaml: the file: unknown key resource'],
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

  async function run(options: Readonly<Record<string, unknown>>): Promise<{ code: number; out: string; err: string }> {
    const [out, err]: [string[], string[]] = [[], []]
    const context = {
      arguments: [],
      options: { refNaming: 'seed', bothSet: 'prefer_external', resource: [], out: join(folder, 'out'), ...options },
      stdin: async () => '',
      out: (text: string) => void out.push(text),
      err: (text: string) => void err.push(text),
      client: () => Promise.reject(new Error('needs no cluster')),
      signal: new AbortController().signal,
    } satisfies CommandContext
    const code = await generatorCommands[0]!.run(context).catch((error: unknown) => {
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
      'graph.dot',
      'graph.json',
      'graph.mmd',
      'library.services.k8s.aws_books.yaml',
      'rbac.yaml',
      'references.json',
    ])
    expect(first['graph.mmd']).toContain('  Book -->|authorARN| Author')
    expect(parseYaml(first['library.services.k8s.aws_books.yaml'] as string)).toEqual(made().kinds[0]?.crd)
    await run({ service: 'library', ...files() })
    expect(read()).toEqual(first)
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

  test('a model that is no JSON is an error with its place', async () => {
    writeFileSync(join(folder, 'model.json'), '{"shapes": ')
    const { code, err } = await run({ service: 'library', ...files() })
    expect([code, err]).toEqual([1, expect.stringContaining('model.json')])
  })
})
