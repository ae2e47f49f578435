// An extension API server in a process of its own, behind an APIService of our embedded server, and of a real cluster
// where its binaries are configured.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../../test/support/until.ts'
import { connect, kind, parseKubeconfig } from '@fairlead/client'
import type { Client, ConfigMap, Namespace, Service, ServiceAccount, ReflectorEvent } from '@fairlead/client'
import { extensionServerRules, kubeconfigText } from '@fairlead/apiserver'
import { findCondition, isForbidden } from '@fairlead/kube'
import type { Condition, JsonObject, KubeObject } from '@fairlead/kube'
import { findKubectl, Kubectl } from '../../../../test/support/kubectl.ts'
import { freePort } from '../../../../test/support/free-port.ts'
import { aggregatingClusters } from '../support/aggregating-clusters.ts'
import type { AggregatingCluster } from '../support/aggregating-clusters.ts'
import { sendRequest } from '../support/front-proxy.ts'
import type { TlsResponse } from '../support/front-proxy.ts'
import { playNotes } from '../support/note-transcript.ts'
import { note } from '../support/notes.ts'
import { sourceCondition } from '../../../../test/support/source-condition.ts'

interface ApiService extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] }
}

const ApiService = kind<ApiService>('apiregistration.k8s.io/v1', 'APIService', {
  plural: 'apiservices',
  namespaced: false,
})
const Note = kind('notes.example.com/v1', 'Note')
const group = '/apis/notes.example.com/v1'
const notes = `${group}/namespaces/default/notes`
const serviceAccount = { namespace: 'notes-system', name: 'notes-server' }
const binary = findKubectl('1.33')

/** The process that hosts the notes. */
class Hosted implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly ready: Promise<{ readonly caBundle: string }>

  constructor(kubeconfig: string, port: number) {
    const program = new URL('../fixtures/hosted-notes.ts', import.meta.url).pathname
    const args = [...sourceCondition, program, kubeconfig, serviceAccount.namespace, String(port)]
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.ready = once(this.#child.stdout!, 'data').then(([line]) => JSON.parse(String(line)) as { caBundle: string })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return
    this.#child.kill('SIGTERM')
    await once(this.#child, 'exit')
  }
}

for (const choice of aggregatingClusters) {
  const title = choice.missing === undefined ? `behind ${choice.name}` : `behind ${choice.name} (${choice.missing})`
  describe.skipIf(choice.missing !== undefined)(title, () => {
    let cluster: AggregatingCluster
    let admin: Client
    let hosted: Hosted
    let folder: string
    let port: number
    let caBundle: string
    let tokenOfAlice: string

    const available = async (): Promise<Condition | undefined> =>
      findCondition((await admin.get(ApiService, 'v1.notes.example.com')).status?.conditions ?? [], 'Available')

    const start = async (): Promise<void> => {
      hosted = new Hosted(join(folder, 'kubeconfig'), port)
      ;({ caBundle } = await hosted.ready)
      await eventually(async () => expect((await available())?.status).toBe('True'), 50)
      admin.discovery.invalidate()
    }

    const tokenOf = async ({ namespace, name }: { namespace: string; name: string }): Promise<string> => {
      await admin.create<ServiceAccount>({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } })
      const answer = (await admin.send({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec: { audiences: [] } },
      })) as { readonly status: { readonly token: string } }
      return answer.status.token
    }

    const asAlice = (
      method: string,
      path: string,
      headers: Record<string, string> = {},
      body?: JsonObject,
    ): Promise<TlsResponse> =>
      sendRequest(method, path, {
        port: cluster.port,
        ca: cluster.ca,
        headers: { authorization: `Bearer ${tokenOfAlice}`, ...headers },
        ...(body === undefined ? {} : { body }),
      })

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'fairlead-aggregation-'))
      cluster = await choice.open()
      admin = await connect({ connection: await parseKubeconfig(cluster.kubeconfig).connection() })
      port = await freePort()
      const { namespace } = serviceAccount
      await admin.create<Namespace>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
      await admin.create<Service>({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace, name: 'notes' },
        spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
      })
      for (const object of extensionServerRules({ serviceAccount, apiServices: ['v1.notes.example.com'] }))
        await admin.create(object)
      const user = { name: 'notes-server', token: await tokenOf(serviceAccount) }
      const server = `https://127.0.0.1:${cluster.port}`
      writeFileSync(join(folder, 'kubeconfig'), kubeconfigText({ name: 'cluster', server, ca: cluster.ca, user }))
      tokenOfAlice = await tokenOf({ namespace: 'default', name: 'alice' })
      const rbac = { apiGroup: 'rbac.authorization.k8s.io' }
      await admin.create({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'notes' },
        rules: [{ apiGroups: ['notes.example.com'], resources: ['*'], verbs: ['*'] }],
      } as KubeObject)
      await admin.create({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'notes', namespace: 'default' },
        roleRef: { ...rbac, kind: 'ClusterRole', name: 'notes' },
        subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'alice' }],
      } as KubeObject)
      await start()
    })

    afterAll(async () => {
      await hosted[Symbol.asyncDispose]()
      await admin.transport[Symbol.asyncDispose]()
      await cluster[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    })

    test('its resources are in the discovery and OpenAPI documents of the cluster', async () => {
      const resources = (await admin.send({ method: 'GET', path: group })) as JsonObject
      expect((resources['resources'] as JsonObject[]).map(({ name }) => name)).toEqual([
        'notes',
        'notes/status',
        'notes/scale',
        'notes/shout',
      ])
      const groups = (await admin.send({ method: 'GET', path: '/apis' })) as unknown as {
        groups: { name: string; versions: JsonObject[] }[]
      }
      expect(groups.groups.filter(({ name }) => name === 'notes.example.com')).toEqual([
        {
          name: 'notes.example.com',
          versions: [{ groupVersion: 'notes.example.com/v1', version: 'v1' }],
          preferredVersion: { groupVersion: 'notes.example.com/v1', version: 'v1' },
        },
      ])
      const single = (await admin.send({ method: 'GET', path: '/apis/notes.example.com' })) as JsonObject
      expect(single['preferredVersion']).toEqual({ groupVersion: 'notes.example.com/v1', version: 'v1' })
      await eventually(async () => {
        const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
        const { items } = (await admin.send({ method: 'GET', path: '/apis', accept })) as unknown as {
          items: {
            metadata: { name: string }
            versions: { version: string; freshness: string; resources: JsonObject[] }[]
          }[]
        }
        const [version] = items.find(({ metadata }) => metadata.name === 'notes.example.com')?.versions ?? []
        expect(version).toMatchObject({ version: 'v1', freshness: 'Current' })
        expect(version?.resources[0]).toEqual({
          resource: 'notes',
          responseKind: { group: 'notes.example.com', version: 'v1', kind: 'Note' },
          scope: 'Namespaced',
          singularResource: 'note',
          shortNames: ['nt'],
          categories: ['fairlead'],
          verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
          subresources: expect.arrayContaining([expect.objectContaining({ subresource: 'status' })]),
        })
        // The content type of the real server's index is plain text.
        const index = await admin.send({ method: 'GET', path: '/openapi/v3' })
        const { paths } = (typeof index === 'string' ? JSON.parse(index) : index) as {
          paths: Record<string, { serverRelativeURL: string }>
        }
        const { serverRelativeURL = '' } = paths['apis/notes.example.com/v1'] ?? {}
        const [path = '', query = ''] = serverRelativeURL.split('?')
        const hash = new URLSearchParams(query).get('hash') ?? ''
        expect(hash).toMatch(/^[0-9A-F]+$/)
        const document = JSON.stringify(await admin.send({ method: 'GET', path, query: { hash } }))
        expect(document).toContain('A note that someone left.')
      }, 200)
    })

    test('clients read, write and watch its resources like all others', async () => {
      const events: string[] = []
      const stop = new AbortController()
      const reflector = admin.reflector(Note, { namespace: 'default' }, (event: ReflectorEvent<KubeObject>) => {
        if (event.type === 'set' || event.type === 'deleted') events.push(`${event.type} ${event.object.metadata.name}`)
        if (event.type === 'replaced') events.push('replaced')
      })
      const running = reflector.run(stop.signal)
      await eventually(() => expect(events).toEqual(['replaced']))
      const created = await admin.create(note('a', 'one', { namespace: 'default' }) as unknown as KubeObject)
      const applied = await admin.apply(
        { ...(note('a', 'two', { namespace: 'default' }) as unknown as KubeObject) },
        { manager: 'm', force: true },
      )
      expect([created['spec'], applied['spec']]).toEqual([
        { text: 'one', copies: 1 },
        { text: 'two', copies: 1 },
      ])
      await expect(
        admin.create(note('b', 'far too long for any note', { namespace: 'default' }) as unknown as KubeObject),
      ).rejects.toMatchObject({ code: 422 })
      await expect(
        admin.create(note('b', 'x', { namespace: 'missing' }) as unknown as KubeObject),
      ).rejects.toMatchObject({ code: 404 })
      expect((await asAlice('GET', `${notes}/a/shout`)).text).toBe('A')
      await admin.delete(Note, 'default/a')
      await eventually(() => expect(events).toEqual(['replaced', 'set a', 'set a', 'deleted a']))
      stop.abort()
      await running
    })

    test('it receives the authenticated user, whatever the headers of the client', async () => {
      const forged = {
        'x-remote-user': 'root',
        'x-remote-group': 'system:masters',
        'x-remote-extra-a': 'b',
        'x-remote-uid': '0',
      }
      const made = await asAlice('POST', notes, forged, note('hers', 'x'))
      expect([made.status, (made.body['status'] as JsonObject)['by']]).toEqual([
        201,
        'system:serviceaccount:default:alice',
      ])
      expect((await asAlice('GET', '/apis/notes.example.com/v1/notes', forged)).status).toBe(403)
      expect((await asAlice('DELETE', `${notes}/hers`)).status).toBe(200)
      const bob = admin.as({ user: 'bob' })
      await expect(bob.list(Note, { namespace: 'default' })).rejects.toSatisfy(isForbidden)
      const masked = admin.as({ user: 'system:serviceaccount:default:alice' })
      const his = await masked.create(note('masked', 'x', { namespace: 'default' }) as unknown as KubeObject)
      expect((his['status'] as JsonObject)['by']).toBe('system:serviceaccount:default:alice')
      await masked.delete(Note, 'default/masked')
    })

    test('it ignores user headers of direct requests', async () => {
      const headers = { 'x-remote-user': 'root', 'x-remote-group': 'system:masters' }
      const direct = { port, ca: caBundle, headers }
      expect((await sendRequest('GET', notes, direct)).status).toBe(403)
      const withToken = { ...headers, authorization: `Bearer ${tokenOfAlice}` }
      expect((await sendRequest('GET', notes, { ...direct, headers: withToken })).status).toBe(200)
      expect((await sendRequest('GET', `${group}/notes`, { ...direct, headers: withToken })).status).toBe(403)
    })

    test('it rejects too large bodies through the cluster', async () => {
      const body = note('big', 'x', { annotations: { big: 'x'.repeat(3 * 1024 * 1024) } })
      expect((await asAlice('POST', notes, {}, body)).status).toBe(413)
    })

    test.skipIf(binary === undefined)(
      `kubectl 1.33 works with them${binary === undefined ? ' (not found)' : ''}`,
      async () => {
        using kubectl = new Kubectl(binary!, cluster.kubeconfig)
        await playNotes(kubectl)
      },
    )

    test('only its group is unavailable while it is down', async () => {
      await hosted[Symbol.asyncDispose]()
      await eventually(async () => expect((await available())?.status).toBe('False'), 100)
      expect((await available())?.reason).toBe('FailedDiscoveryCheck')
      const refused = await asAlice('GET', notes)
      expect(refused.status).toBe(503)
      const metadata = { namespace: 'default', name: 'still' }
      await admin.create<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {} })
      await start()
      await eventually(async () => expect((await asAlice('GET', notes)).status).toBe(200))
    })
  })
}
