// The schema format `email`: one address as Go's mail.ParseAddress parses RFC 5322, with display name, comments and
// quoted parts.

const atomCharacters = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\uffff-]"
const atom = new RegExp(`^${atomCharacters}+`)
const dotAtom = new RegExp(`^${atomCharacters}+(?:\\.${atomCharacters}+)*`)
/** Words of a display name may contain dots (`John Q. Public`). */
const phraseWord = new RegExp(`^(?:${atomCharacters}|\\.)+`)
// oxlint-disable-next-line no-control-regex -- the grammar excludes control characters
const quoted = /^"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\x20-\x7e\t])*"/
// oxlint-disable-next-line no-control-regex -- the grammar excludes control characters
const literal = /^\[[^[\]\\\x00-\x1f\x7f]*\]/

/** Reports whether a string is one email address. */
export function isEmailAddress(text: string): boolean {
  const bare = addressSpec(text)
  if (bare !== undefined && skipBlank(bare) === '') return true
  const rest = displayName(text)
  if (rest === undefined || !rest.startsWith('<')) return false
  const after = addressSpec(rest.slice(1))
  if (after === undefined) return false
  const end = skipBlank(after)
  return end.startsWith('>') && skipBlank(end.slice(1)) === ''
}

/** Returns the rest after `local@domain`; undefined when there is none. */
function addressSpec(text: string): string | undefined {
  const start = skipBlank(text)
  const local = quoted.exec(start) ?? dotAtom.exec(start)
  if (local === null || local[0] === '""') return undefined
  const at = skipBlank(start.slice(local[0].length))
  if (!at.startsWith('@')) return undefined
  const rest = skipBlank(at.slice(1))
  const domain = literal.exec(rest) ?? dotAtom.exec(rest)
  return domain === null ? undefined : rest.slice(domain[0].length)
}

/** Returns the rest after a display name (possibly empty), from the `<` on. */
function displayName(text: string): string | undefined {
  let rest = skipBlank(text)
  while (rest !== '' && !rest.startsWith('<')) {
    const word = quoted.exec(rest) ?? atom.exec(rest) ?? phraseWord.exec(rest)
    if (word === null) return undefined
    rest = skipBlank(rest.slice(word[0].length))
  }
  return rest
}

/** Skips blanks and comments, which nest. */
function skipBlank(text: string): string {
  let rest = text.replace(/^[ \t]+/, '')
  while (rest.startsWith('(')) {
    let depth = 0
    let at = 0
    do {
      const character = rest[at]
      if (character === undefined) return rest
      if (character === '\\') at += 1
      else if (character === '(') depth += 1
      else if (character === ')') depth -= 1
      at += 1
    } while (depth > 0)
    rest = rest.slice(at).replace(/^[ \t]+/, '')
  }
  return rest
}
