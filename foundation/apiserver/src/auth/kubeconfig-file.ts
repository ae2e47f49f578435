// Kubeconfigs for clients of this server.
import { stringifyYaml } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { KeyPair } from './certificates.ts'
import { writePrivate } from './private-file.ts'

/** The contents of a kubeconfig with one cluster and one user. */
export interface KubeconfigContent {
  /** Name of cluster and context. */
  readonly name: string
  /** `https://127.0.0.1:6443` */
  readonly server: string
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string
  readonly user: { readonly name: string } & ({ readonly certificate: KeyPair } | { readonly token: string })
  readonly namespace?: string
}

/** Returns a kubeconfig as YAML; certificates are embedded, so that it works wherever it is copied. */
export function kubeconfigText({ name, server, ca, user, namespace }: KubeconfigContent): string {
  const credentials: JsonObject =
    'token' in user
      ? { token: user.token }
      : { 'client-certificate-data': base64(user.certificate.cert), 'client-key-data': base64(user.certificate.key) }
  return stringifyYaml({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: user.name, user: credentials }],
    contexts: [{ name, context: { cluster: name, user: user.name, ...(namespace !== undefined && { namespace }) } }],
    'current-context': name,
  })
}

/** Writes a kubeconfig that only its owner can read. */
export async function writeKubeconfig(path: string, content: KubeconfigContent): Promise<void> {
  writePrivate(path, kubeconfigText(content))
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
