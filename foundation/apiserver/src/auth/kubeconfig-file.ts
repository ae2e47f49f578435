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
  /** Without a user requests are anonymous. */
  readonly user?: { readonly name: string } & ({ readonly certificate: KeyPair } | { readonly token: string })
  readonly namespace?: string
}

/** Returns a kubeconfig as YAML; certificates are embedded, so that it works wherever it is copied. */
export function kubeconfigText({ name, server, ca, user, namespace }: KubeconfigContent): string {
  return stringifyYaml({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: user === undefined ? [] : [{ name: user.name, user: credentialsOf(user) }],
    contexts: [
      {
        name,
        context: { cluster: name, ...(user && { user: user.name }), ...(namespace !== undefined && { namespace }) },
      },
    ],
    'current-context': name,
  })
}

function credentialsOf(user: NonNullable<KubeconfigContent['user']>): JsonObject {
  if ('token' in user) return { token: user.token }
  const { cert, key } = user.certificate
  return { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) }
}

/** Writes a kubeconfig that only its owner can read. */
export async function writeKubeconfig(path: string, content: KubeconfigContent): Promise<void> {
  writePrivate(path, kubeconfigText(content))
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
