// The server that a scenario runs on: fresh, in memory, no capabilities, RBAC, static tokens of the recordings' users.
import { Agent } from 'node:https'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { UserInfo } from '@fairlead/apiserver'
import type { Target } from './wire.ts'

/** Each controller acts about this long after its cause: some steps must still see the state before. */
const controllerDelayMs = 150

const userOf = (name: string, groups: readonly string[]): { token: string; user: UserInfo } => ({
  token: `token-${name}`,
  user: { name, uid: `uid-${name}`, groups },
})

/** The users of the recordings, each with its token. */
export const users = [
  userOf('admin', ['system:masters']),
  userOf('alice', ['devs']),
  userOf('bob', ['ops', 'devs']),
  userOf('carol', []),
]

/** Bearer token per user of the recordings. */
export const tokens: Readonly<Record<string, string>> = Object.fromEntries([
  ...users.map((entry) => [entry.user.name, entry.token] as const),
  ['badtoken', 'unknown-token'],
])

export interface ReplayServer {
  readonly target: Target
  readonly kubeconfig: string
  compact(): Promise<void>
  stop(): Promise<void>
}

/** Starts a server for one scenario. */
export async function startServer(): Promise<ReplayServer> {
  const server = await ApiServer.start({
    storage: memory(),
    authorization: 'RBAC',
    controllers: ['namespace', 'gc', 'role-aggregation', 'crd'],
    controllerDelay: controllerDelayMs,
    tokens: users,
  })
  const { port, certificateAuthority } = await server.listen({ port: 0 })
  const agent = new Agent({ keepAlive: true, ca: certificateAuthority })
  return {
    target: { host: '127.0.0.1', port, agent, tokens },
    kubeconfig: kubeconfigFor(port, certificateAuthority, 'token-admin'),
    compact: () => server.store.compact(),
    async stop() {
      agent.destroy()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** A kubeconfig of one user. */
export function kubeconfigFor(port: number, ca: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://127.0.0.1:${port}`,
          'certificate-authority-data': Buffer.from(ca).toString('base64'),
        },
      },
    ],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })
}
