// Command templates: split into arguments before substitution, so that an input of a user stays one argument.
import { whole } from '../patterns/pattern-resolver.ts'
import type { Resolved } from '../patterns/pattern-resolver.ts'
import { PatternError, parsePattern, rawParts } from '../patterns/pattern.ts'
import type { Pattern } from '../patterns/pattern.ts'

/** The argument before a comma-separated list of pods: one Job per pod (originals/kappnav.md §3.2). */
export const podToken = 'path:podName:string'

/**
 * Splits a template at blanks; double quotes group. Single quotes and backslashes have no meaning, `""` is dropped, and
 * a quote next to other characters begins a new argument. A `${…}` is never split.
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

/**
 * Splits a template and resolves each argument. Returns one command per pod if it has a pod token. Throws PatternError.
 */
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
    throw new PatternError('NoValue', `no pod was selected: a comma-separated list of pods must follow ${podToken}`)
  return pods.map((pod) => args.with(token + 1, pod))
}

const shells = /(^|\/)(sh|bash|dash|ash|ksh|zsh|busybox)$/

/** Reports whether an argument is a shell script: it follows the `-c` of a shell. */
function isScript(templates: readonly string[], index: number): boolean {
  const option = templates[index - 1]
  return (
    option !== undefined && /^-[a-z]*c$/.test(option) && templates.slice(0, index - 1).some((text) => shells.test(text))
  )
}

/** Characters without a meaning to any shell, quoted or not. */
const harmless = /^[A-Za-z0-9_@%+=:,./-]*$/

/**
 * Substitutes values in a shell script. A value that could be more than one word to the shell is refused: no quoting is
 * correct everywhere in a script.
 */
async function scriptOf(template: string, resolve: (pattern: Pattern) => Promise<Resolved>): Promise<string> {
  let script = ''
  for (const part of parsePattern(template)) {
    const value = whole(await resolve([part]))
    if (part.source !== 'literal' && !harmless.test(value)) {
      throw new PatternError(
        'InvalidPattern',
        `"${'raw' in part ? part.raw : ''}" is part of a shell script and its value contains characters with a meaning to a shell; pass it after the script and write "$1" in the script`,
      )
    }
    script += value
  }
  return script
}
