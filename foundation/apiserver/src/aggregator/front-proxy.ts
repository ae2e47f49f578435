// What this server shows to servers behind APIServices, and how they come to know it: a certificate of an authority of its own, and the ConfigMap
// kube-system/extension-apiserver-authentication.
import { createPrivateKey } from 'node:crypto'
import type { Client, ConfigMap } from '@fairlead/client'
import { CertificateMaker } from '@fairlead/controller'
import type { KeyPair } from '@fairlead/controller'
import type { Clock, UserInfo } from '@fairlead/kube'
import { authenticationConfigMap } from '../extension-server/front-proxy-settings.ts'

const clientName = 'front-proxy-client'
const day = 86_400_000
const lifetime = 3650 * day
/** Clocks of others may be slow. */
const backdate = 3_600_000

/** A pair and the authority behind it. */
export interface FrontProxyCertificates {
  readonly authority: KeyPair
  readonly client: KeyPair
}

/** Made anew with each server: nobody has to keep the key of who may speak for everybody. */
export async function frontProxyCertificates(clock: Clock): Promise<FrontProxyCertificates> {
  const now = clock.now()
  const maker = await CertificateMaker.start({ from: now - backdate, until: now + lifetime })
  const authority = maker.authority([['CN', 'fairlead-front-proxy-ca']])
  const signer = { cert: authority.cert, key: createPrivateKey(authority.key) }
  return { authority, client: maker.issue(signer, [['CN', clientName]], 'client') }
}

/** Tells extension servers whom to believe. `clientAuthority`: PEM of who signs certificates of users. */
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

/** The headers that say on whose behalf a request is made. */
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

/** Percent-encoded where a header name cannot hold it. */
function headerKey(key: string): string {
  return encodeURIComponent(key.toLowerCase()).replaceAll(
    /[()]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  )
}
