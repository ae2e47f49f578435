// The signing key of service account tokens: generated once, stored in the data folder.
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { readOrCreate } from './private-file.ts'
import { tokenAlgorithm } from './service-account-tokens.ts'

/** Returns a new P-256 key, or with a folder the one stored in its `service-accounts.key`. */
export async function tokenKey(folder: string | undefined): Promise<KeyObject> {
  const generate = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  if (folder === undefined) return generate()
  return createPrivateKey(
    await readOrCreate(
      join(folder, 'service-accounts.key'),
      () => generate().export({ type: 'pkcs8', format: 'pem' }) as string,
    ),
  )
}

const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----[^]*?-----END \1-----/g

/**
 * Returns the public keys in a PEM file of `--service-account-key-file`: public keys, private keys or certificates.
 * Throws an Error for a file without keys that can verify tokens.
 */
export function verificationKeys(pem: string): readonly KeyObject[] {
  const blocks = [...pem.matchAll(pemBlock)].filter(([, label]) => label !== 'EC PARAMETERS')
  if (blocks.length === 0) throw new Error('it holds no PEM block of a key or certificate')
  return blocks.map(([block]) => usableKey(createPublicKey(block)))
}

/** Returns the key in a PEM file of `--service-account-signing-key-file`. Throws an Error for others. */
export function signingKey(pem: string): KeyObject {
  const key = createPrivateKey(pem)
  usableKey(createPublicKey(key))
  return key
}

function usableKey(key: KeyObject): KeyObject {
  if (tokenAlgorithm(key) === undefined) throw new Error('its key must be RSA, or EC on P-256, P-384 or P-521')
  return key
}
