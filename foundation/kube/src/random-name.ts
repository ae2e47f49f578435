// Names that the server makes up: generateName and the like.

/** No vowels, so no words; no characters that are easily confused (apimachinery's rand). */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

/** Names made from a base are at most this long, the suffix included. */
const maxNameLength = 63

/** Five characters; `random` gives numbers in [0, 1). */
export function nameSuffix(random: () => number): string {
  let suffix = ''
  for (let i = 0; i < 5; i++) suffix += alphabet[Math.floor(random() * alphabet.length)]
  return suffix
}

/** A name for `generateName`: the base, cut so that all fits, and a suffix. */
export function generatedName(base: string, random: () => number): string {
  return base.slice(0, maxNameLength - 5) + nameSuffix(random)
}
