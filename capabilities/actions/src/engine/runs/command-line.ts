// How a command template becomes arguments. It is split before anything is put in: what a user types stays one argument.
import { PatternError, parsePattern, rawParts } from '../patterns/pattern.ts'
import type { Pattern } from '../patterns/pattern.ts'
import type { Resolved } from '../patterns/pattern-resolver.ts'
import { whole } from '../patterns/pattern-resolver.ts'

/** The argument after which a list of pods stands: one Job for each (originals/kappnav.md §3.2). */
export const podToken = 'path:podName:string'

/**
 * Splits a template: blanks separate, double quotes group, there are no single quotes and no backslash, `""` is nothing, and a quote that
 * follows or precedes text begins an argument of its own. A `${…}` is never split.
 */
export function splitCommandLine(template: string): string[] {
  const args: string[] = []
  let current = ''
  let isQuoted = false
  const end = (): void => {
    if (current !== '') args.push(current)
    current = ''
  }
  for (const part of rawParts(template)) {
    if (part.isSegment) {
      current += part.text
      continue
    }
    for (const char of part.text) {
      if (char === '"') {
        end()
        isQuoted = !isQuoted
      } else if (!isQuoted && /\s/.test(char)) end()
      else current += char
    }
  }
  end()
  return args
}

/** Splits a template and resolves each argument; one command per pod where there is a pod token. Throws PatternError. */
export async function commandsOf(
  template: string,
  resolve: (pattern: Pattern) => Promise<Resolved>,
): Promise<readonly (readonly string[])[]> {
  const templates = splitCommandLine(template)
  const args: string[] = []
  for (const [index, text] of templates.entries())
    args.push(isScript(templates, index) ? await scriptOf(text, resolve) : whole(await resolve(parsePattern(text))))
  if (args.length === 0) throw new PatternError('InvalidPattern', 'the command is empty')
  const token = templates.indexOf(podToken)
  if (token < 0 || token + 1 >= args.length) return [args]
  const pods = args[token + 1]!.split(',')
    .map((pod) => pod.trim())
    .filter((pod) => pod !== '')
  if (pods.length === 0)
    throw new PatternError('NoValue', `no pod was chosen: a comma list of pods should follow ${podToken}`)
  return pods.map((pod) => args.with(token + 1, pod))
}

const shells = /(^|\/)(sh|bash|dash|ash|ksh|zsh|busybox)$/

/** The argument is a script that a shell will read: it stands behind the `-c` of one. */
function isScript(templates: readonly string[], index: number): boolean {
  const option = templates[index - 1]
  return (
    option !== undefined && /^-[a-z]*c$/.test(option) && templates.slice(0, index - 1).some((text) => shells.test(text))
  )
}

/** What no shell gives a meaning to, in quotes or out of them. */
const harmless = /^[A-Za-z0-9_@%+=:,./-]*$/

/** A script with values in it. A value that could be more than a word to the shell is refused: no quoting is right for every place. */
async function scriptOf(template: string, resolve: (pattern: Pattern) => Promise<Resolved>): Promise<string> {
  let script = ''
  for (const part of parsePattern(template)) {
    const value = whole(await resolve([part]))
    if (part.source !== 'literal' && !harmless.test(value)) {
      throw new PatternError(
        'InvalidPattern',
        `"${'raw' in part ? part.raw : ''}" stands inside a shell script and its value holds characters that mean something to a shell; pass it behind the script and write "$1" there`,
      )
    }
    script += value
  }
  return script
}
