// `deprecationWarning` of a version.
import type { DefinitionVersion } from './definition.ts'

/** Validates the deprecation of a version. */
export function deprecationProblems(version: DefinitionVersion): string[] {
  const { deprecated = false, deprecationWarning: text } = version
  if (text === undefined) return []
  if (!deprecated) return ['can only be set for deprecated versions']
  const problems: string[] = []
  if (Buffer.byteLength(text) > 256) problems.push('must be <= 256 characters long')
  if (text === '') problems.push('must not be an empty string')
  const stranger = firstUnprintable(text)
  if (stranger !== undefined) {
    problems.push(`must only contain printable UTF-8 characters; non-printable character found at index ${stranger}`)
  }
  return problems
}

/** Returns the byte offset of the first character that Go's unicode.IsPrint rejects. */
function firstUnprintable(text: string): number | undefined {
  let offset = 0
  for (const character of text) {
    if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) return offset
    offset += Buffer.byteLength(character)
  }
  return undefined
}
