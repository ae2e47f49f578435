// An API server that holds many objects, to measure those who follow them: in this process, or as the process that the
// HTTPS figures speak to (`fork` of this file with the number of objects; it answers `published` with when each change
// became visible).
import { ApiServer, memory } from '@fairlead/apiserver'
import type { KubeObject } from '@fairlead/kube'

/** The message of a forked server when it is ready. */
export interface ServerReady {
  readonly url: string
  /** PEM. */
  readonly ca: string
}

/** The bearer token of the administrator. */
export const token = 'bench'

/** The name of the n-th object in namespace `default`. */
export const nameOf = (index: number): string => `object-${index}`

/** The clock that all processes of a machine share. Milliseconds. */
export const machineNow = (): number => Number(process.hrtime.bigint()) / 1e6

/** An object of about 0.6 KB in JSON. */
function object(index: number): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: nameOf(index), namespace: 'default', labels: { bench: 'controller', shard: `s${index % 100}` } },
    data: { index: String(index), text: 'x'.repeat(250) },
  }
}

/** A server on a memory store with so many ConfigMaps. */
export async function loadedServer(objects: number): Promise<ApiServer> {
  const server = await ApiServer.start({
    storage: memory(),
    controllers: ['crd'],
    tokens: [{ token, user: { name: 'bench', groups: ['system:masters'] } }],
  })
  const client = server.client()
  for (let first = 0; first < objects; first += 500) {
    const batch = Array.from({ length: Math.min(500, objects - first) }, (_, offset) => object(first + offset))
    await Promise.all(batch.map((one) => client.create(one)))
  }
  return server
}

/** When each change from now on became visible: `<name>@<resourceVersion>` to milliseconds of {@link machineNow}. */
export function publications(server: ApiServer): Map<string, number> {
  const times = new Map<string, number>()
  server.store.watchAll(({ entry }) => {
    times.set(`${entry.key}@${entry.revision}`, machineNow())
  })
  return times
}

if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  const server = await loadedServer(Number(process.argv[2]))
  const { url, certificateAuthority } = await server.listen({ port: 0 })
  const published = publications(server)
  process.on('message', () => {
    process.send?.([...published])
    published.clear()
  })
  process.once('disconnect', () => void server[Symbol.asyncDispose]().then(() => process.exit(0)))
  process.send({ url, ca: certificateAuthority } satisfies ServerReady)
}
