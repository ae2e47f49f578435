// The key that service account tokens are signed with: made once, kept in the data folder.
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { keptFile } from './private-file.ts'

/** A new P-256 key, or with a folder the one that is kept there in `service-accounts.key`. */
export async function tokenKey(folder: string | undefined): Promise<KeyObject> {
  const make = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  if (folder === undefined) return make()
  return createPrivateKey(
    await keptFile(
      join(folder, 'service-accounts.key'),
      () => make().export({ type: 'pkcs8', format: 'pem' }) as string,
    ),
  )
}
