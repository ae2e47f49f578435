// What a cluster tells its extension servers about callers: ConfigMap kube-system/extension-apiserver-authentication. Pure.
import { X509Certificate } from 'node:crypto'
import { isJsonObject, parseJson } from '@fairlead/kube'

/** Where the ConfigMap is. */
export const authenticationConfigMap = { namespace: 'kube-system', name: 'extension-apiserver-authentication' } as const

/** Authorities by the SHA-256 of each, in hex. */
export interface Authorities {
  /** PEM, one after the other. */
  readonly pem: string
  readonly fingerprints: ReadonlySet<string>
}

/** How a front proxy says whom it speaks for. */
export interface FrontProxySettings {
  readonly authorities: Authorities
  /** Common names that it may have; any when empty. */
  readonly allowedNames: readonly string[]
  /** Names of headers in lower case; the first that is there counts. */
  readonly usernameHeaders: readonly string[]
  readonly uidHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraPrefixes: readonly string[]
}

/** All of it. */
export interface AuthenticationSettings {
  /** Whose certificates make their bearers users. */
  readonly clientAuthorities: Authorities
  /** Undefined: nobody may speak for others. */
  readonly frontProxy: FrontProxySettings | undefined
}

const nobody: Authorities = { pem: '', fingerprints: new Set() }

/** Before anything is known: nobody is trusted. */
export const noSettings: AuthenticationSettings = { clientAuthorities: nobody, frontProxy: undefined }

/** Reads the ConfigMap's data. Throws an Error that names the key for what cannot be read. */
export function authenticationSettings(data: Readonly<Record<string, string>>): AuthenticationSettings {
  const clientAuthorities = authoritiesOf(data, 'client-ca-file')
  const authorities = authoritiesOf(data, 'requestheader-client-ca-file')
  const usernameHeaders = headerNames(data, 'requestheader-username-headers')
  // Without an authority everybody could claim to be the proxy.
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

/** JSON in a string, as the cluster writes lists. */
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
