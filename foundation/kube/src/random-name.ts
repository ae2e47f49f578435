// Generated names: generateName and the like.

/** Without vowels, so that no words appear, and without characters that are easily confused (apimachinery's rand). */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

/** The maximum length of a generated name, suffix included. */
const maxNameLength = 63

/** Returns five random characters; `random` returns numbers in [0, 1). */
export function nameSuffix(random: () => number): string {
  let suffix = ''
  for (let i = 0; i < 5; i++) suffix += alphabet[Math.floor(random() * alphabet.length)]
  return suffix
}

/** Returns a name for `generateName`: the base, truncated to fit, and a random suffix. */
export function generatedName(base: string, random: () => number): string {
  return base.slice(0, maxNameLength - 5) + nameSuffix(random)
}
