// Parses ConfigMap kube-system/extension-apiserver-authentication: how extension API servers authenticate requests.
// Pure.
import { X509Certificate } from 'node:crypto'
import { isJsonObject, parseJson } from '@fairlead/kube'

/** Namespace and name of the ConfigMap. */
export const authenticationConfigMap = { namespace: 'kube-system', name: 'extension-apiserver-authentication' } as const

/** Certificate authorities, with the SHA-256 of each in hex. */
export interface Authorities {
  /** Concatenated PEM. */
  readonly pem: string
  readonly fingerprints: ReadonlySet<string>
}

/** The headers and the trusted certificates of a front proxy. */
export interface FrontProxySettings {
  readonly authorities: Authorities
  /** Allowed common names of its certificate; any when empty. */
  readonly allowedNames: readonly string[]
  /** Names of headers in lower case; the first present one is used. */
  readonly usernameHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraPrefixes: readonly string[]
}

/** The authentication settings of a cluster. */
export interface AuthenticationSettings {
  /** The authorities of client certificates. */
  readonly clientAuthorities: Authorities
  /** Undefined: no front proxy is trusted. */
  readonly frontProxy: FrontProxySettings | undefined
}

const noAuthorities: Authorities = { pem: '', fingerprints: new Set() }

/** The settings before the ConfigMap is read: they trust no certificate. */
export const noSettings: AuthenticationSettings = { clientAuthorities: noAuthorities, frontProxy: undefined }

/** Parses the data of the ConfigMap. Throws an Error that names the invalid key. */
export function authenticationSettings(data: Readonly<Record<string, string>>): AuthenticationSettings {
  const clientAuthorities = authoritiesOf(data, 'client-ca-file')
  const authorities = authoritiesOf(data, 'requestheader-client-ca-file')
  const usernameHeaders = headerNames(data, 'requestheader-username-headers')
  // Without an authority every client could claim to be the proxy.
  if (authorities.fingerprints.size === 0 || usernameHeaders.length === 0)
    return { clientAuthorities, frontProxy: undefined }
  return {
    clientAuthorities,
    frontProxy: {
      authorities,
      allowedNames: listOf(data, 'requestheader-allowed-names'),
      usernameHeaders,
      uidHeaders: headerNames(data, 'requestheader-uid-headers'),
      groupHeaders: headerNames(data, 'requestheader-group-headers'),
      extraPrefixes: headerNames(data, 'requestheader-extra-headers-prefix'),
    },
  }
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function authoritiesOf(data: Readonly<Record<string, string>>, key: string): Authorities {
  const certificates = (data[key] ?? '').match(pemCertificate) ?? []
  try {
    const fingerprints = certificates.map((pem) => new X509Certificate(pem).fingerprint256)
    return {
      pem: certificates.map((pem) => `${pem}\n`).join(''),
      fingerprints: new Set(fingerprints.map((text) => text.replaceAll(':', '').toLowerCase())),
    }
  } catch (cause) {
    throw new Error(`${key} holds a certificate that cannot be read`, { cause })
  }
}

function headerNames(data: Readonly<Record<string, string>>, key: string): readonly string[] {
  return listOf(data, key).map((name) => name.toLowerCase())
}

/** Parses a list, which the cluster writes as a JSON string. */
function listOf(data: Readonly<Record<string, string>>, key: string): readonly string[] {
  const text = data[key] ?? ''
  if (text === '') return []
  let value: unknown
  try {
    value = parseJson(text)
  } catch (cause) {
    throw new Error(`${key} is not JSON`, { cause })
  }
  if (!Array.isArray(value) || isJsonObject(value) || value.some((item) => typeof item !== 'string'))
    throw new Error(`${key} is no list of strings`)
  return (value as readonly string[]).map((item) => item.trim()).filter((item) => item !== '')
}
