// A service account for `fairlead run`, with the rights of an installation and no more.
import { kubeconfigText } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import type { Capability } from '@fairlead/controller'
import { asJson } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { manifests } from '../../apps/cli/src/install/manifests.ts'

const namespace = 'fairlead-system'

/** Where the server is. */
export interface ServerAddress {
  readonly url: string
  /** PEM of its authority. */
  readonly ca: string
}

/** Makes the account, and returns a token of it and a kubeconfig. */
export async function runAccount(
  admin: Client,
  { url, ca }: ServerAddress,
  capabilities: readonly Capability[],
  name = 'fairlead',
): Promise<{ readonly token: string; readonly kubeconfig: string }> {
  for (const object of installation(capabilities, name)) await admin.apply(object, { force: true })
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 86_400 } }
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const { status } = asJson((await admin.send({ method: 'POST', path, body: request })) as object) as unknown as {
    readonly status: { readonly token: string }
  }
  const user = { name, token: status.token }
  return { token: status.token, kubeconfig: kubeconfigText({ name: 'cluster', server: url, ca, user }) }
}

const rightsOf = new Set(['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'])

/** Returns what `fairlead install` prints, without the definitions and what runs the pods. */
function installation(capabilities: readonly Capability[], name: string): KubeObject[] {
  const options = { name, namespace, capabilities, version: '0', image: 'fairlead:0', replicas: 1, settings: [] }
  return manifests({ ...options, webhooks: true, networkPolicy: false, serviceMonitor: false, defaults: false }).filter(
    ({ kind }) => rightsOf.has(kind),
  )
}
