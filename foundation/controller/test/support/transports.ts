// The transports that lead to an embedded server. The same tests run over each of them.
import type { ApiServer } from '@fairlead/apiserver'
import { connect, parseKubeconfig } from '@fairlead/client'
import type { Client } from '@fairlead/client'

interface Opened {
  readonly client: Client
  readonly close: () => Promise<void>
}

export const transports: readonly { readonly name: string; readonly open: (server: ApiServer) => Promise<Opened> }[] = [
  { name: 'in-process', open: async (server) => ({ client: server.client(), close: async () => {} }) },
  {
    name: 'HTTPS',
    open: async (server) => {
      const { kubeconfig } = await server.listen()
      const client = await connect({ connection: await parseKubeconfig(kubeconfig).connection() })
      return { client, close: async () => client.transport[Symbol.asyncDispose]() }
    },
  },
]
