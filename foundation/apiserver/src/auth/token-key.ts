// The signing key of service account tokens: generated once, stored in the data folder.
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { readOrCreate } from './private-file.ts'

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
