// Login as a service account: tokens issued by the API server (TokenRequest), renewed before they expire.
import { asJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import type { Client } from './client.ts'
import { ClientError } from './client-error.ts'
import { FetchedLogin } from './login.ts'
import type { Login } from './login.ts'

/** Requested lifetime of tokens. Seconds. */
const lifetime = 3600
/** The share of its lifetime after which a token is renewed; as the kubelet does. */
const used = 0.8

/** Returns a login whose tokens `client` requests; it needs `create` on `serviceaccounts/token`. */
export function serviceAccountLogin(
  client: Client,
  account: { readonly namespace: string; readonly name: string },
): Login {
  const [namespace, name] = [encodeURIComponent(account.namespace), encodeURIComponent(account.name)]
  return new FetchedLogin(async () => {
    const body = await client.send({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: lifetime },
      } satisfies JsonObject,
    })
    const { spec, status } = asJson(body as object) as { spec?: JsonObject; status?: JsonObject }
    const token = status?.token
    if (typeof token !== 'string')
      throw new ClientError(
        'InvalidResponse',
        `The TokenRequest for ${account.namespace}/${account.name} gave no token`,
      )
    // The server may grant less. Its clock may differ from ours, so the lifetime counts, not the expiry time.
    const granted = typeof spec?.expirationSeconds === 'number' ? spec.expirationSeconds : lifetime
    return { credentials: { token }, usableFor: granted * 1000 * used }
  }, client.clock)
}
