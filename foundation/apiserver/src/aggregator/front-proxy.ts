// The front-proxy identity of this server towards extension API servers: a client certificate of its own authority,
// published in the ConfigMap kube-system/extension-apiserver-authentication.
import { createPrivateKey } from 'node:crypto'
import type { Client, ConfigMap } from '@fairlead/client'
import { CertificateMaker } from '@fairlead/controller'
import type { KeyPair } from '@fairlead/controller'
import type { Clock, UserInfo } from '@fairlead/kube'
import { authenticationConfigMap } from '../extension-server/front-proxy-settings.ts'

const clientName = 'front-proxy-client'
const day = 86_400_000
const lifetime = 3650 * day
/** Tolerates slow clocks of other machines. */
const backdate = 3_600_000

/** A client certificate and its authority. */
export interface FrontProxyCertificates {
  readonly authority: KeyPair
  readonly client: KeyPair
}

/** Creates new certificates at each start: the key that may impersonate every user is never stored. */
export async function frontProxyCertificates(clock: Clock): Promise<FrontProxyCertificates> {
  const now = clock.now()
  const maker = await CertificateMaker.start({ from: now - backdate, until: now + lifetime })
  const authority = maker.authority([['CN', 'fairlead-front-proxy-ca']])
  const signer = { cert: authority.cert, key: createPrivateKey(authority.key) }
  return { authority, client: maker.issue(signer, [['CN', clientName]], 'client') }
}

/**
 * Publishes the trusted authorities to extension API servers. `clientAuthority`: PEM of the authority of client
 * certificates.
 */
export async function publishAuthentication(
  client: Client,
  clientAuthority: string,
  { authority }: FrontProxyCertificates,
): Promise<void> {
  await client.apply<ConfigMap>(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...authenticationConfigMap },
      data: {
        'client-ca-file': clientAuthority,
        'requestheader-allowed-names': JSON.stringify([clientName]),
        'requestheader-client-ca-file': authority.cert,
        'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
        'requestheader-group-headers': '["X-Remote-Group"]',
        'requestheader-uid-headers': '["X-Remote-Uid"]',
        'requestheader-username-headers': '["X-Remote-User"]',
      },
    },
    { force: true },
  )
}

/** Returns the headers with the user of a request. */
export function identityHeaders({ name, uid, groups, extra = {} }: UserInfo): Record<string, string | string[]> {
  return {
    'x-remote-user': name,
    ...(uid === undefined || uid === '' ? {} : { 'x-remote-uid': uid }),
    ...(groups.length === 0 ? {} : { 'x-remote-group': [...groups] }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [`x-remote-extra-${headerKey(key)}`, [...values]]),
    ),
  }
}

/** Percent-encodes characters that a header name cannot contain. */
function headerKey(key: string): string {
  return encodeURIComponent(key.toLowerCase()).replaceAll(
    /[()]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  )
}
