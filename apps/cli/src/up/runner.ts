// `--run-jobs`: runs the Jobs of this server on this machine, each with the rights of its service account.
import { join } from 'node:path'
import type { ApiServer, Listening, PodLogs } from '@fairlead/apiserver'
import { Manager } from '@fairlead/controller'
import type { Logger } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { DataFolder } from '../data/data-folder.ts'
import type { UpOptions } from './options.ts'

/** Lifetime of a pod's API token. Seconds. */
const tokenSeconds = 3600

/** A runner that is not started yet: the server needs the source of logs before it serves them. */
export interface Runner {
  readonly logs: PodLogs
  /** Starts running Jobs; disposing the result stops running ones. */
  start(server: ApiServer, listening: Listening, logger: Logger): Promise<AsyncDisposable>
}

/**
 * Returns the runner that the flag names; undefined for `off`. It keeps the logs of pods as long as the server keeps
 * the pods.
 */
export async function makeRunner(
  { runJobs, inMemory }: UpOptions,
  { path }: Pick<DataFolder, 'path'>,
): Promise<Runner | undefined> {
  if (runJobs === 'off') return undefined
  const { JobRunner } = await import('@fairlead/actions')
  let kubeconfigFor: ((namespace: string, account: string) => Promise<string>) | undefined
  const runner = new JobRunner({
    mode: runJobs,
    ...(inMemory ? {} : { logFolder: join(path, 'pod-logs') }),
    kubeconfigFor: (namespace, account) => kubeconfigFor!(namespace, account),
  })
  return {
    logs: runner.logs,
    async start(server, listening, logger) {
      kubeconfigFor = (namespace, account) => kubeconfigOf(server, listening, namespace, account)
      const manager = await Manager.start({
        client: server.client({ manager: 'fairlead-job-runner' }),
        logger: logger.child({ capability: 'job-runner' }),
        setup: (made) => void runner.setUp(made),
      })
      return {
        async [Symbol.asyncDispose]() {
          await runner[Symbol.asyncDispose]()
          await manager.stop()
        },
      }
    },
  }
}

/**
 * Returns a kubeconfig with a token of a service account. Rejects with StatusError 404 when there is no such account.
 */
async function kubeconfigOf(
  server: ApiServer,
  { url, certificateAuthority }: Listening,
  namespace: string,
  account: string,
): Promise<string> {
  const request: KubeObject = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: {},
    spec: { audiences: [], expirationSeconds: tokenSeconds },
  }
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(account)}/token`
  const answer = (await server.client().send({ method: 'POST', path, body: request })) as unknown as {
    status: { token: string }
  }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'fairlead',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') },
      },
    ],
    users: [{ name: account, user: { token: answer.status.token } }],
    contexts: [{ name: 'fairlead', context: { cluster: 'fairlead', user: account, namespace } }],
    'current-context': 'fairlead',
  })
}
