// Continue tokens of paged lists: base64url of `{"v":"meta.k8s.io/v1","rv":N,"start":"name\u0000"}`, as the real server writes them.
import { badRequest, isJsonObject, parseJson } from '@fairlead/kube'

/** Where a paged list goes on. */
export interface ContinueToken {
  /** The revision of the list; -1 = now (a token that was issued after its revision had expired). */
  readonly revision: number
  /** The key after which to go on, relative to the namespace (or whole, for lists over all namespaces). */
  readonly after: string
}

/** Writes a token. */
export function encodeContinue({ revision, after }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${after}\u0000` })).toString(
    'base64url',
  )
}

/**
 * Reads a token.
 * @throws StatusError 400
 */
export function decodeContinue(token: string): ContinueToken {
  const refusal = (reason: string): Error => badRequest(`continue key is not valid: ${reason}`)
  if (!/^[A-Za-z0-9_-]*$/.test(token)) {
    throw refusal(`illegal base64 data at input byte ${/[^A-Za-z0-9_-]/.exec(token)!.index}`)
  }
  let value: unknown
  try {
    value = parseJson(Buffer.from(token, 'base64url'))
  } catch (error) {
    throw refusal((error as Error).message)
  }
  if (!isJsonObject(value))
    throw refusal('json: cannot unmarshal the token into Go value of type storage.continueToken')
  const { v, rv, start } = value
  if (v !== 'meta.k8s.io/v1') throw refusal('server does not recognize this encoded version')
  if (typeof rv !== 'number' || rv === 0 || !Number.isSafeInteger(rv))
    throw refusal('incorrect encoded start resourceVersion (version meta.k8s.io/v1)')
  if (typeof start !== 'string' || start === '') throw refusal('encoded start key empty (version meta.k8s.io/v1)')
  if (start.split('/').some((part) => part === '..' || part === '.')) throw refusal(start)
  return { revision: rv, after: start.endsWith('\u0000') ? start.slice(0, -1) : start }
}
