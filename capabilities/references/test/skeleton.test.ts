// The generated controller: it compiles as it is, and keeps the resources of a service with no more rights than the
// generated ones.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { ApiServer, memory } from '@fairlead/apiserver'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { PolicyRule } from '@fairlead/controller'
import { findCondition, parseYaml } from '@fairlead/kube'
import type { Condition, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { filesOf, generate, readGeneratorConfig, readSmithyModel } from '@fairlead/references/generator'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../../test/support/until.ts'
import { references } from '../src/index.ts'

const root = resolve(import.meta.dirname, '../../..')
const string = (traits: JsonObject = {}): JsonObject => ({ target: 'smithy.api#String', traits })
const creation = (name: string): JsonObject => ({
  type: 'operation',
  input: { target: `a.b#Create${name}Request` },
  output: { target: `a.b#Create${name}Response` },
})
const ast: JsonValue = {
  shapes: {
    'a.b#CreateShelf': creation('Shelf'),
    'a.b#CreateShelfRequest': { type: 'structure', members: { Room: string() } },
    'a.b#CreateShelfResponse': { type: 'structure', members: { ShelfId: string() } },
    'a.b#CreateBook': creation('Book'),
    'a.b#CreateBookRequest': {
      type: 'structure',
      members: { Title: string(), ShelfId: string({ 'smithy.api#required': {} }) },
    },
    'a.b#CreateBookResponse': { type: 'structure', members: { BookId: string() } },
  },
}
const made = generate({
  model: readSmithyModel(ast),
  config: readGeneratorConfig({
    resources: { Book: { fields: { ShelfId: { references: { resource: 'Shelf', path: 'Status.ShelfID' } } } } },
  }),
  service: 'library',
})

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-skeleton-'))
  for (const { path, text } of filesOf(made)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(root, name), join(folder, name))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('compiles as it is', { timeout: 180_000 }, () => {
  const config = {
    extends: join(root, 'tsconfig.test.json'),
    compilerOptions: { rootDir: '/', noEmit: true },
    include: ['*.ts'],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' })
  expect(stdout.split('\n').filter((line) => line.includes(basename(folder)))).toEqual([])
  expect(stdout).not.toContain('TS18003')
})

/** A service in memory that writes down each call that changes something. */
class Library {
  readonly calls: string[] = []
  readonly #items = new Map<string, JsonObject>()

  resources(name: 'Shelf' | 'Book', id: string, key: (spec: JsonObject) => JsonValue | undefined): object {
    const keyOf = (spec: JsonObject): string => `${name} ${String(key(spec))}`
    return {
      read: async (spec: JsonObject) => this.#items.get(keyOf(spec)),
      create: async (spec: JsonObject) => {
        const item = { [id]: `id-${String(key(spec))}` }
        this.#items.set(keyOf(spec), item)
        this.calls.push(`create ${name}${name === 'Book' ? ` on ${String(spec['shelfID'])}` : ''}`)
        return item
      },
      update: async (_: JsonObject, item: JsonObject) => item,
      delete: async (spec: JsonObject) => {
        this.calls.push(`delete ${name}`)
        this.#items.delete(keyOf(spec))
      },
    }
  }
}

test('creates in the order of references, and deletes in the other', async () => {
  const { setup } = (await import(join(folder, 'controller.ts'))) as {
    readonly setup: (manager: Manager, services: object) => Disposable
  }
  const library = new Library()
  const services = {
    Shelf: library.resources('Shelf', 'shelfID', (spec) => spec['room']),
    Book: library.resources('Book', 'bookID', (spec) => spec['title']),
  }
  await using server = await ApiServer.start({ storage: memory(), authorization: 'RBAC' })
  const client = server.client({ manager: 'kubectl' })
  await installDefinitions(client, [...references.crds, ...made.kinds.map(({ crd }) => crd)])
  const role = parseYaml(filesOf(made).find(({ path }) => path === 'rbac.yaml')!.text) as unknown as KubeObject & {
    readonly rules: readonly PolicyRule[]
  }
  await client.create(role)
  await client.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'library' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role.metadata.name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'library' }],
  } as unknown as KubeObject)
  let watch: Disposable | undefined
  await using _manager = await Manager.start({
    client: server.client({ as: { name: 'library', groups: ['system:authenticated'] } }),
    setup: async (manager) => {
      watch = setup(manager, services)
    },
  })
  const apiVersion = 'library.services.k8s.aws/v1alpha1'
  const book = { apiVersion, kind: 'Book' }
  const shelf = { apiVersion, kind: 'Shelf' }
  const ready = async (): Promise<Condition | undefined> => {
    const { status } = await client.get(book, 'default/moby')
    return findCondition((status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? [], 'Ready')
  }
  await client.create({
    ...book,
    metadata: { name: 'moby', namespace: 'default' },
    spec: { title: 'Moby', shelfIDRef: { name: 'first' } },
  })
  await eventually(async () => expect(await ready()).toMatchObject({ reason: 'ReferencesNotResolved' }))
  await client.create({ ...shelf, metadata: { name: 'first', namespace: 'default' }, spec: { room: 'a' } })
  await eventually(async () => expect(await ready()).toMatchObject({ status: 'True', reason: 'Synced' }))
  expect((await client.get(book, 'default/moby')).status).toMatchObject({
    bookID: 'id-Moby',
    resolvedReferences: [{ path: 'shelfID', value: 'id-a', state: 'Resolved' }],
  })
  await client.delete(shelf, 'default/first')
  await eventually(async () => {
    const { status } = await client.get(shelf, 'default/first')
    expect(findCondition((status as { conditions: readonly Condition[] }).conditions, 'Ready')).toMatchObject({
      reason: 'DeletionBlocked',
    })
  })
  await client.delete(book, 'default/moby')
  await eventually(async () => expect(await client.find(shelf, 'default/first')).toBeUndefined())
  expect(library.calls).toEqual(['create Shelf', 'create Book on id-a', 'delete Book', 'delete Shelf'])
  watch?.[Symbol.dispose]()
})
