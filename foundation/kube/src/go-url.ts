// URLs as Go's net/url parses them, with its error messages, which validation of webhooks quotes.
import { goQuote } from './go-text.ts'

/** The parts of a URL that validation reads; `user` is the raw part before the `@`, undefined without one. */
export interface GoUrl {
  readonly scheme: string
  readonly user: string | undefined
  readonly host: string
  readonly query: string
  readonly fragment: string
}

/** Parses a URL; returns Go's error message when Go rejects it (`parse "…": missing protocol scheme`). */
export function parseGoUrl(text: string): GoUrl | string {
  const [url, fragment] = cut(text, '#')
  const parsed = parse(url)
  return typeof parsed === 'string' ? `parse ${goQuote(url)}: ${parsed}` : { ...parsed, fragment }
}

/** Returns Go's error message for a string that is no URI of a request: absolute, or a path from the root. */
export function requestUriProblem(text: string): string | undefined {
  const parsed = text === '' ? 'empty url' : text === '*' ? undefined : parse(text, true)
  return typeof parsed === 'string' ? `parse ${goQuote(text)}: ${parsed}` : undefined
}

function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}

function parse(text: string, isRequestUri = false): Omit<GoUrl, 'fragment'> | string {
  // oxlint-disable-next-line no-control-regex -- the pattern looks for control characters
  if (/[\x00-\x1f\x7f]/.test(text)) return 'net/url: invalid control character in URL'
  if (text.startsWith(':')) return 'missing protocol scheme'
  const match = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text)
  const scheme = (match?.[1] ?? '').toLowerCase()
  const [rest, query] = cut(text.slice(match?.[0].length ?? 0), '?')
  const parts = { scheme, user: undefined, host: '', query }
  if (!rest.startsWith('/')) {
    if (scheme !== '') return parts
    if (isRequestUri) return 'invalid URI for request'
    return cut(rest, '/')[0].includes(':') ? 'first path segment in URL cannot contain colon' : parts
  }
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'))
  const [authority] = hasAuthority ? cut(rest.slice(2), '/') : ['']
  const path = hasAuthority ? rest.slice(2 + authority.length) : rest
  const at = authority.lastIndexOf('@')
  const host = authority.slice(at + 1)
  const problem = hostProblem(host)
  if (problem !== undefined) return problem
  const user = at < 0 ? undefined : authority.slice(0, at)
  if (user !== undefined && !/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) return 'net/url: invalid userinfo'
  const escape = invalidEscape(user ?? '') ?? invalidEscape(path)
  return escape ?? { ...parts, user, host }
}

function hostProblem(host: string): string | undefined {
  const bracket = host.lastIndexOf('[')
  if (bracket > 0) return 'invalid IP-literal'
  const close = host.lastIndexOf(']')
  if (bracket === 0 && close < 0) return "missing ']' in host"
  const colon = bracket === 0 ? close + 1 : host.indexOf(':')
  const port = colon < 0 ? '' : host.slice(colon)
  if (port !== '' && !/^:\d*$/.test(port)) return `invalid port ${goQuote(port)} after host`
  const escape = invalidEscape(host)
  if (escape !== undefined) return escape
  const odd = /[^A-Za-z0-9\-._~!$&'()*+,;=:<>"[\]%\u0080-\uffff]/.exec(host)
  return odd === null ? undefined : `invalid character ${goQuote(odd[0])} in host name`
}

function invalidEscape(text: string): string | undefined {
  const match = /%(?![0-9a-fA-F]{2}).{0,2}/s.exec(text)
  return match === null ? undefined : `invalid URL escape ${goQuote(match[0])}`
}
