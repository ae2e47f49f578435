// One suite, the documents served twice: by the embedded server itself, and by a server behind an APIService of it.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../test/support/until.ts'
import { ExtensionServer, ApiServer } from '@fairlead/apiserver'
import { kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isConflict } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { Documents, documentsResource } from './documents.ts'

interface Document extends KubeObject {
  readonly spec: { readonly title: string; readonly text?: string }
  readonly status?: { readonly characters: number }
}
const Document = kind<Document>('documents.example.com/v1', 'Document', { plural: 'documents', namespaced: true })

const document = (name: string, title: string, text: string): Document => ({
  apiVersion: 'documents.example.com/v1',
  kind: 'Document',
  metadata: { name, namespace: 'default' },
  spec: { title, text },
})

describe.each(['by the embedded server', 'behind an APIService'])('served %s', (place) => {
  let resources: AsyncDisposableStack
  let folder: string
  let client: Client

  beforeEach(async () => {
    resources = new AsyncDisposableStack()
    folder = await mkdtemp(join(tmpdir(), 'documents-'))
    resources.defer(() => rm(folder, { recursive: true }))
    const documents = resources.use(await Documents.open(folder))
    let hosted: ExtensionServer | undefined
    const server = resources.use(
      await ApiServer.start({ resolve: async () => hosted && { host: '127.0.0.1', port: hosted.port } }),
    )
    client = server.client()
    if (place === 'by the embedded server') return void (await server.addStorage(documentsResource(documents)))
    hosted = resources.use(
      await ExtensionServer.start({
        client: server.client({ manager: 'documents' }),
        resources: [documentsResource(documents)],
        serving: { service: { namespace: 'documents', name: 'documents' }, host: '127.0.0.1', port: 0 },
      }),
    )
    // The cluster finds it by itself, as soon as both believe each other.
    await eventually(() => client.list(Document), 20)
  })

  afterEach(() => resources.disposeAsync())

  test('what is written is a file, and what is written into the file is the object', async () => {
    const created = await client.create(document('tides', 'Tides', 'High at noon.\n'))
    expect(created.status).toEqual({ characters: 14 })
    const file = join(folder, 'default', 'tides.json')
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
      spec: { title: 'Tides', text: 'High at noon.\n' },
    })

    const texts: (string | undefined)[] = []
    const stop = new AbortController()
    const reflector = client.reflector(Document, {}, (event) => {
      if (event.type === 'set') texts.push(event.object.spec.text)
      if (event.type === 'deleted') texts.push(undefined)
    })
    const running = reflector.run(stop.signal)
    await eventually(() => expect(reflector.state).toBe('Watching'))
    // As an editor does: the file is empty before it is written.
    await writeFile(file, '')
    await writeFile(file, JSON.stringify({ ...created, spec: { title: 'Tides', text: 'High at one.\n' } }))
    await eventually(() => expect(texts).toEqual(['High at one.\n']))
    await rm(file)
    await eventually(() => expect(texts).toEqual(['High at one.\n', undefined]))
    stop.abort()
    await running

    await expect(client.update({ ...created, spec: { title: 'x' } })).rejects.toMatchObject({ code: 404 })
  })

  test('apply, selectors, conflicts and dry runs are those of every resource', async () => {
    await client.apply(document('a', 'One', 'a\n'), { manager: 'ann' })
    await client.apply(document('b', 'Two', 'b\n'), { manager: 'ann' })
    const [two] = (await client.list(Document, { fieldSelector: 'spec.title=Two' })).items
    expect(two?.metadata.name).toBe('b')
    await expect(client.apply(document('a', 'Other', 'a\n'), { manager: 'bob' })).rejects.toSatisfy(isConflict)
    await client.apply(document('a', 'Other', 'a\n'), { manager: 'bob', force: true, dryRun: true })
    expect((await client.get(Document, 'default/a')).spec.title).toBe('One')
    await expect(client.create(document('c', '', 'c\n'))).rejects.toMatchObject({ code: 422 })
    await client.deleteCollection(Document, { namespace: 'default' })
    expect((await client.list(Document)).items).toEqual([])
  })
})
