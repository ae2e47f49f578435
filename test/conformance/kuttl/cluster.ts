// The cluster of a kuttl suite: the embedded server with the controllers of supply chains, without admission, and with
// service accounts that may do everything, as Cartographer runs it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, memory } from '@fairlead/apiserver'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { crds, startControllers } from '@fairlead/supply'
import { objectsIn } from './kuttl-case.ts'
import type { KuttlSuite } from './kuttl-case.ts'
import type { Stage } from './play.ts'

const everyAccount: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'kuttl-service-accounts' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:serviceaccounts' }],
}

/** Starts the cluster; `kubeconfig` is the path of a file for commands. */
export async function startCluster(suite: KuttlSuite): Promise<Stage & AsyncDisposable> {
  await using started = new AsyncDisposableStack()
  const server = started.use(await ApiServer.start({ storage: memory(), authorization: 'RBAC' }))
  const client = server.client({ manager: 'kuttl' })
  await client.create(everyAccount)
  const own = new Set(crds.map(({ metadata }) => metadata.name))
  const objects = [
    ...(suite.definitions === undefined ? [] : objectsIn(suite.definitions)),
    ...suite.manifests.flatMap(objectsIn),
  ]
  const isDefinition = ({ kind }: KubeObject): boolean => kind === 'CustomResourceDefinition'
  const definitions = objects.filter((object) => isDefinition(object) && !own.has(object.metadata.name))
  await installDefinitions(client, [...crds, ...definitions])
  for (const object of objects) if (!isDefinition(object)) await client.apply(object)
  const account = { name: 'system:serviceaccount:fairlead-system:fairlead-supply', groups: ['system:serviceaccounts'] }
  started.use(
    await Manager.start({ client: server.client({ as: account }), setup: (manager) => startControllers(manager) }),
  )
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-kuttl-'))
  started.defer(() => rm(folder, { recursive: true, force: true }))
  const kubeconfig = join(folder, 'kubeconfig')
  const { kubeconfig: text } = await server.listen({ port: 0 })
  await writeFile(kubeconfig, text, { mode: 0o600 })
  const running = started.move()
  return { client, kubeconfig, timeout: suite.timeout, [Symbol.asyncDispose]: () => running.disposeAsync() }
}
