// The file of `--token-auth-file`: CSV records of token, user, uid and, optionally, groups.
import type { StaticToken } from '@fairlead/apiserver'

/**
 * Returns the tokens of a file. Throws an Error that names the line of a record with less than three columns, or
 * without a token.
 */
export function readTokens(text: string): readonly StaticToken[] {
  const tokens = new Map<string, StaticToken>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    const [token = '', name, uid, groups = ''] = columnsOf(line)
    if (name === undefined || uid === undefined)
      throw new Error(`line ${index + 1} has less than three columns: write token,user,uid,"group,group"`)
    if (token === '') throw new Error(`line ${index + 1} has no token`)
    const user = { name, uid, groups: groups.split(',').filter((group) => group !== '') }
    tokens.set(token, { token, user })
  }
  return [...tokens.values()]
}

/** Returns the columns of a CSV line; a quoted one may hold commas, and quotes that are doubled. */
function columnsOf(line: string): readonly string[] {
  return [...line.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/g)]
    .filter((match) => match.index < line.length || line.endsWith(','))
    .map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain!)
}
