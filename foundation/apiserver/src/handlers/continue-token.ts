// Continue tokens of paged lists: base64url of `{"v":"meta.k8s.io/v1","rv":N,"start":"name\u0000"}`, as the real server
// writes them.
import { badRequest, isJsonObject, JsonSyntaxError, parseJson } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'

/** The position at which a paged list continues. */
export interface ContinueToken {
  /** The revision of the list; -1 for the newest (a token that was issued after its revision had expired). */
  readonly revision: number
  /** The key after which the list continues, relative to the namespace (whole for lists over all namespaces). */
  readonly after: string
}

/** Encodes a token. */
export function encodeContinue({ revision, after }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${after}\u0000` })).toString(
    'base64url',
  )
}

/**
 * Decodes a token.
 * @throws StatusError 400
 */
export function decodeContinue(token: string): ContinueToken {
  const value = parseToken(token)
  const { v, rv, start } = value
  if (v !== 'meta.k8s.io/v1')
    throw refusal(`: server does not recognize this encoded version ${typeof v === 'string' ? v : ''}`)
  if (typeof rv !== 'number' || rv === 0 || !Number.isSafeInteger(rv)) {
    throw refusal(': incorrect encoded start resourceVersion (version meta.k8s.io/v1)')
  }
  if (typeof start !== 'string' || start === '') throw refusal(': encoded start key empty (version meta.k8s.io/v1)')
  const parts = start.replace(/^\//, '').split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) throw refusal(`: ${start}`)
  return { revision: rv, after: start.endsWith('\u0000') ? start.slice(0, -1) : start }
}

function parseToken(token: string): JsonObject {
  const bad = /[^A-Za-z0-9_-]/.exec(token)?.index ?? (token.length % 4 === 1 ? token.length - 1 : undefined)
  if (bad !== undefined) throw refusal(`: illegal base64 data at input byte ${bad}`)
  const bytes = Buffer.from(token, 'base64url')
  // Go names the first byte that cannot begin a value, even where it is a part of a character.
  if (bytes[0] !== undefined && bytes[0] >= 0x80)
    throw refusal(`: invalid character '${String.fromCharCode(bytes[0])}' looking for beginning of value`)
  try {
    const value = parseJson(bytes)
    if (isJsonObject(value)) return value
    throw refusal(
      `: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type storage.continueToken`,
    )
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw refusal(`: ${error.message}`)
    throw error
  }
}

function refusal(reason: string): Error {
  return badRequest(`invalid continue token: continue key is not valid${reason}`)
}
