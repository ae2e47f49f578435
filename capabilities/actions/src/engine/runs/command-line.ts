// Command templates: split into arguments before substitution, so that an input of a user stays one argument.
import { whole } from '../patterns/pattern-resolver.ts'
import type { Resolved } from '../patterns/pattern-resolver.ts'
import { PatternError, parsePattern, rawParts } from '../patterns/pattern.ts'
import type { Pattern, PatternPart } from '../patterns/pattern.ts'

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

/** Maximum number of pods, and so of Jobs, of one run. */
const maxPods = 100

/**
 * Splits a template and resolves each argument. Returns one command per pod if it has a pod token. Throws PatternError.
 */
export async function commandsOf(
  template: string,
  resolve: (pattern: Pattern) => Promise<Resolved>,
): Promise<readonly (readonly string[])[]> {
  const templates = splitCommandLine(template)
  const args: Argument[] = []
  for (const text of templates) args.push(await argumentOf(parsePattern(text), resolve))
  const command = args.map(({ value }) => value)
  if (command.length === 0 || command[0] === '') throw new PatternError('InvalidPattern', 'the command is empty')
  for (const argument of args) checkLength(argument)
  checkOptions(args)
  checkScripts(args)
  const token = templates.indexOf(podToken)
  if (token < 0 || token + 1 >= command.length) return [command]
  const pods = command[token + 1]!.split(',')
    .map((pod) => pod.trim())
    .filter((pod) => pod !== '')
  if (pods.length > maxPods)
    throw new PatternError('TooLarge', `${pods.length} pods were selected, and a run may have ${maxPods} at most`)
  if (pods.length === 0)
    throw new PatternError('NoValue', `no pod was selected: a comma-separated list of pods must follow ${podToken}`)
  return [...new Set(pods)].map((pod) => command.with(token + 1, pod))
}

/** An argument after substitution. */
interface Argument {
  readonly value: string
  readonly parts: readonly { readonly source: PatternPart['source']; readonly raw: string; readonly value: string }[]
}

async function argumentOf(pattern: Pattern, resolve: (pattern: Pattern) => Promise<Resolved>): Promise<Argument> {
  const parts: Argument['parts'][number][] = []
  let length = 0
  for (const part of pattern) {
    const value = whole(await resolve([part]))
    length += value.length
    // Checked at each part: a pattern may repeat a long value ten thousand times.
    if (length >= maxArgumentBytes) throw tooLong()
    parts.push({ source: part.source, raw: 'raw' in part ? part.raw : '', value })
  }
  return { value: parts.map(({ value }) => value).join(''), parts }
}

/** Bytes of one argument that Linux accepts, its terminating NUL included. */
const maxArgumentBytes = 131_072

/** Refuses what no operating system starts a program with. */
function checkLength({ value }: Argument): void {
  if (value.includes('\u0000'))
    throw new PatternError('InvalidPattern', 'an argument of the command contains a NUL character')
  if (Buffer.byteLength(value) >= maxArgumentBytes) throw tooLong()
}

function tooLong(): PatternError {
  return new PatternError('TooLarge', `an argument of the command is longer than ${maxArgumentBytes - 1} bytes`)
}

/** Refuses a value that begins with "-" where the command would read it as an option that its author never wrote. */
function checkOptions(args: readonly Argument[]): void {
  for (const { value, parts } of args) {
    const [first] = parts
    if (value === '--' && parts.every(({ source }) => source === 'literal')) return
    if (first === undefined || !value.startsWith('-') || isAuthored(first)) continue
    throw new PatternError(
      'InvalidPattern',
      `the value of "${first.raw}" begins with "-", so the command would read it as an option; write -- before it, or --option=${first.raw}`,
    )
  }
}

/** Reports whether a value was written by the author of a map or by an administrator. */
function isAuthored({ source }: Argument['parts'][number]): boolean {
  return source === 'literal' || source === 'builtin' || source === 'global'
}

/** Characters without a meaning to any shell or interpreter, quoted or not. */
const harmless = /^[A-Za-z0-9_@%+=:,./-]*$/

/** Programs that evaluate the argument after an option as code. */
const interpreters =
  /^(?:[a-z]*sh|busybox|toybox|su|sudo|doas|runuser|python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|node(?:js)?|deno|bun|php[\d.]*|lua(?:jit)?[\d.]*|psql|mysql|mariadb|sqlite3?|mongo|mongosh|cqlsh|tclsh|groovy|osascript)$/
/** Programs that evaluate their arguments as code without an option. */
const evaluators =
  /^(?:env|eval|ssh|xargs|parallel|watch|[gmn]?awk|sed|jq|yq|expect|redis-cli|cmd|find|nsenter|script)$/
const codeOption = /^[-+][A-Za-z0-9]*[cCeErpS]|^--(?:eval|print|command|execute|exec|split-string)(?:=|$)/
/** Options of shells whose value is the next argument. */
const optionWithValue = /^[-+][A-Za-z]*[oO]$/

/**
 * Refuses values in code. A value that could be more than one word to a shell or an interpreter is refused: no quoting
 * is correct everywhere in code. Code is what an interpreter evaluates, and any argument whose literal parts contain
 * characters with a meaning to a shell.
 */
function checkScripts(args: readonly Argument[]): void {
  const isCode = codePositions(args.map(({ value }) => value))
  for (const [index, { parts }] of args.entries()) {
    if (!isCode[index] && !parts.some(({ source, value }) => source === 'literal' && !/^[\w@%+=:,./ -]*$/.test(value)))
      continue
    const unsafe = parts.find(({ source, value }) => source !== 'literal' && !harmless.test(value))
    if (unsafe === undefined) continue
    throw new PatternError(
      'InvalidPattern',
      `"${unsafe.raw}" is part of a shell script or of other code, and its value contains characters with a meaning there; pass it in an argument of its own after the script and write ~22$$1~22 in the script`,
    )
  }
}

/** Returns for each argument whether a program before it, or the command itself, evaluates it as code. */
function codePositions(args: readonly string[]): readonly boolean[] {
  const isCode = args.map(() => false)
  let interprets = false
  let evaluates = false
  let untilScript = false
  for (const [index, arg] of args.entries()) {
    const program = arg.slice(arg.lastIndexOf('/') + 1).toLowerCase()
    const isOption = /^[-+]./.test(arg)
    // Everything from the option to the first word after it: "-c -e SCRIPT", "-c -- SCRIPT", "-c -o pipefail SCRIPT".
    if (evaluates || untilScript) isCode[index] = true
    if (interprets && codeOption.test(arg)) {
      isCode[index] = true
      untilScript = true
    } else if (untilScript && !isOption && !optionWithValue.test(args[index - 1]!)) untilScript = false
    if (interpreters.test(program)) interprets = true
    if (evaluators.test(program)) evaluates = true
  }
  return isCode
}
