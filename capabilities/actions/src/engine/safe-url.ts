// Addresses of url actions. Start with safeUrl.
import { PatternError } from './patterns/pattern.ts'
import type { PatternPart } from './patterns/pattern.ts'

/** Returns an address that is safe to open: a path of this server, http or https. Throws PatternError for any other. */
export function safeUrl(url: string): string {
  // Browsers ignore control characters: "/<tab>/host" is another host to them.
  const text = url.trim().replaceAll(/[ \p{Cc}]/gu, encodeURIComponent)
  if (/^(?:https?:\/\/[^/?#\\]|\/(?![/\\])|[?#])/i.test(text)) return text
  throw new PatternError(
    'InvalidPattern',
    `"${text.slice(0, 100)}" is not an address that a browser may open: it must begin with http://, https:// or /`,
  )
}

/**
 * Returns the value of a part of a url-pattern as it is substituted after `before`. Values of resources and inputs are
 * data: in the query and the fragment they are encoded, in the path they add no query, and in the host they are part of
 * a host name. A value that is the beginning of the address stays as it is.
 * Throws PatternError.
 */
export function urlValue(part: PatternPart, value: string, before: string): string {
  if ((part.source !== 'resource' && part.source !== 'input') || before === '') return value
  if (/[?#]/.test(before)) return encodeURIComponent(value)
  if (/^https?:\/\/[^/\\]*$/i.test(before)) {
    if (/^[\p{L}\p{N}.:_-]*$/u.test(value)) return value
    throw new PatternError(
      'InvalidPattern',
      `the value of "${part.raw}" is part of the host of the address, and contains more than a host name: "${value.slice(0, 100)}"`,
    )
  }
  return encodeURI(value).replaceAll(/[?#]/g, encodeURIComponent)
}
