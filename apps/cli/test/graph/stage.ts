// A cluster with RBAC for tests of `fairlead graph` and `fairlead why`: a MapController that copies ConfigMaps of two
// teams, and ann, who may read one of them.
import { ApiServer } from '@fairlead/apiserver'
import { Client } from '@fairlead/client'
import type { Transport } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { CommandContext } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { crds, identityOf, mapKeyOf, tagAnnotations, tagLabels } from '@fairlead/metacontroller'
import type { RecordingTransport } from '../../../../test/support/recorded-client.ts'

const rbac = 'rbac.authorization.k8s.io'

/** The outcome of a command. */
export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

type Run<Options> = (
  context: CommandContext<Options, { readonly object: string; readonly name: string | undefined }>,
) => Promise<number>

/** The cluster. */
export class Stage implements AsyncDisposable {
  readonly server: ApiServer
  /** An administrator. */
  readonly client: Client

  private constructor(server: ApiServer) {
    this.server = server
    this.client = server.client()
  }

  static async start(definitions: readonly KubeObject[] = []): Promise<Stage> {
    const server = await ApiServer.start({ authorization: 'RBAC' })
    const stage = new Stage(server)
    await installDefinitions(stage.client, [...crds, ...definitions])
    for (const name of ['team-a', 'team-b'])
      await stage.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    const metadata = { name: 'readers', namespace: 'team-a' }
    const rules = [{ apiGroups: ['', 'test.dev'], resources: ['*'], verbs: ['get', 'list'] }]
    await stage.client.create({ apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules } as KubeObject)
    await stage.client.create({
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'readers' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'ann' }],
    } as KubeObject)
    return stage
  }

  /** Creates a MapController `copies` without a running controller, with a parent and `count` copies in a team. */
  async copies(namespace: string, count: number): Promise<void> {
    const { client } = this
    await client.apply({
      apiVersion: 'metacontroller.k8s.io/v1alpha1',
      kind: 'MapController',
      metadata: { name: 'copies' },
      spec: {
        parentResource: {
          apiVersion: 'v1',
          resource: 'serviceaccounts',
          labelSelector: { matchLabels: { copies: 'yes' } },
        },
        inputResources: [{ apiVersion: 'v1', resource: 'configmaps', labelSelector: { matchLabels: { copy: 'yes' } } }],
        outputResources: [{ apiVersion: 'v1', resource: 'secrets' }],
        hooks: { map: { expression: '[]' } },
      },
    } as KubeObject)
    const place = { namespace }
    const parent = await client.create({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { ...place, name: 'owner', labels: { copies: 'yes' } },
    })
    const { uid = '' } = (parent as KubeObject).metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ServiceAccount', name: 'owner', uid, controller: true }]
    for (let at = 0; at < count; at++) {
      const input = await client.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...place, name: `input-${at}`, labels: { copy: 'yes' } },
      })
      const identity = identityOf(input)
      const tag = { controller: 'copies', parent: identityOf(parent), input: identity, mapKey: mapKeyOf(identity) }
      await client.create({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          ...place,
          name: `copy-${at}`,
          labels: tagLabels(tag),
          annotations: tagAnnotations(tag, 1),
          ownerReferences,
        },
      })
    }
  }

  /** Runs a command with the rights of a user; `recorded` sees its requests. */
  async run<Options>(
    run: Run<Options>,
    options: Options,
    object: string,
    {
      user = 'admin',
      recorded,
    }: { readonly user?: 'admin' | 'ann'; readonly recorded?: (to: Transport) => RecordingTransport } = {},
  ): Promise<Outcome> {
    const { transport } =
      user === 'admin' ? this.client : this.server.client({ as: { name: 'ann', groups: ['system:authenticated'] } })
    const [out, err]: [string[], string[]] = [[], []]
    const code = await run({
      arguments: { object, name: undefined },
      options,
      stdin: async () => '',
      out: (text) => void out.push(text),
      err: (text) => void err.push(text),
      client: async () => new Client({ transport: closeable(recorded?.(transport) ?? transport) }),
      signal: new AbortController().signal,
    })
    return { code, out: out.join('\n'), err: err.join('\n') }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]()
  }
}

/** Returns a transport that a command closes after its last request, and that leaves the stage's own open. */
function closeable(transport: Transport): Transport {
  let isClosed = false
  return new Proxy(transport, {
    get: (target, name) => {
      if (name === Symbol.asyncDispose)
        return async () => {
          isClosed = true
        }
      if (isClosed) throw new Error('The command uses a connection that it has closed')
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
