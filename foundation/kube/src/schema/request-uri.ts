// The schema format `uri`: an absolute URI or an absolute path, as Go's url.ParseRequestURI accepts it.

/** Reports whether a string is an absolute URI or an absolute path. */
export function isRequestUri(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the pattern looks for control characters
  if (text === '' || /[\x00-\x1f\x7f]/.test(text)) return false
  if (text === '*') return true
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text)?.[0]
  if (scheme === undefined && text.startsWith(':')) return false
  const rest = withoutQuery(text.slice(scheme?.length ?? 0))
  if (!rest.startsWith('/')) return scheme !== undefined
  if (scheme === undefined || !rest.startsWith('//')) return areEscapesValid(rest)
  const end = rest.indexOf('/', 2)
  const authority = end < 0 ? rest.slice(2) : rest.slice(2, end)
  return isAuthority(authority) && areEscapesValid(end < 0 ? '' : rest.slice(end))
}

function withoutQuery(text: string): string {
  const mark = text.indexOf('?')
  return mark < 0 ? text : text.slice(0, mark)
}

function areEscapesValid(text: string): boolean {
  return !/%(?![0-9a-fA-F]{2})/.test(text)
}

function isAuthority(authority: string): boolean {
  const at = authority.lastIndexOf('@')
  const user = at < 0 ? '' : authority.slice(0, at)
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) || !areEscapesValid(user)) return false
  const host = authority.slice(at + 1)
  if (host.startsWith('[')) return /^\[[0-9a-fA-F:.]+(?:%25[A-Za-z0-9\-._~]+)?\](?::\d*)?$/.test(host)
  // Escapes in a host may only encode bytes outside ASCII.
  return /^(?:[A-Za-z0-9\-._~!$&'()*+,;=<>"[\]\u0080-\uffff]|%[89a-fA-F][0-9a-fA-F])*(?::\d*)?$/.test(host)
}
