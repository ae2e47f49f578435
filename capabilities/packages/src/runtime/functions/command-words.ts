// Words of an `exec` function: as a POSIX shell splits them, without expanding anything.
import { PackageError } from '../../engine/package-error.ts'

/** Splits a command into words; quotes and backslashes are resolved. @throws PackageError `InvalidPackage` */
export function commandWords(command: string): readonly [string, ...string[]] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let index = 0; index < command.length; index += 1) {
    const character = command.charAt(index)
    if (quote === "'" || quote === '"') {
      if (character === quote) quote = ''
      else if (character === '\\' && quote === '"' && /["\\$`]/.test(command.charAt(index + 1))) {
        index += 1
        word = (word ?? '') + command.charAt(index)
      } else word = (word ?? '') + character
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (character === "'" || character === '"') {
      quote = character
      word ??= ''
    } else if (character === '\\') {
      index += 1
      word = (word ?? '') + command.charAt(index)
    } else word = (word ?? '') + character
  }
  if (quote !== '')
    throw new PackageError(
      'InvalidPackage',
      `exec command ${JSON.stringify(command)} must be valid: unterminated quote`,
    )
  if (word !== undefined) words.push(word)
  const [program, ...args] = words
  if (program === undefined) throw new PackageError('InvalidPackage', 'exec command must not be empty')
  return [program, ...args]
}
