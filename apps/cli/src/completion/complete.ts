// Completes the command line: from the tree of commands, and from the cluster for names of objects.
import type { Argument, Command, Option } from 'commander'
import { capabilities } from '../capabilities.ts'
import { candidatesOf } from '../capability-command.ts'
import { contextNames, namespaceNames, resourceNames, withClient } from './cluster-names.ts'

/** Files or folders that the shell offers besides the candidates. */
type Also = 'files' | 'folders' | ''

interface Candidate {
  readonly text: string
  readonly description?: string
}

interface Answer {
  readonly candidates: readonly Candidate[]
  readonly also: Also
}

/** Given flags, by their long name without dashes. */
type Given = Readonly<Record<string, string | undefined>>

const nothing: Answer = { candidates: [], also: '' }

/** Returns the tree of commands; only the wanted capability's group has its commands. */
export type ProgramOf = (wanted?: string) => Promise<Command>

/** Returns the response to `__complete`; the last word is the one being completed. */
export async function completionResponse(program: ProgramOf, received: readonly string[]): Promise<string> {
  const words = received[0] === '--' ? received.slice(1) : [...received]
  if (process.env['FAIRLEAD_COMPLETE_EMPTY'] === '1' && words.at(-1) !== '') words.push('')
  const { candidates, also } = await complete(program, words)
  const word = valueOf(words.at(-1) ?? '')
  const lines = candidates
    .filter(({ text }) => text.startsWith(word) || text.startsWith(words.at(-1) ?? ''))
    .map(({ text, description }) => (description === undefined ? text : `${text}\t${description}`))
  return [...lines, `:${also}`, ''].join('\n')
}

async function complete(program: ProgramOf, words: readonly string[]): Promise<Answer> {
  const before = words.slice(0, -1)
  const word = words.at(-1) ?? ''
  const root = await program(before.find((text) => !text.startsWith('-')))
  const { command, given, positional, open } = walk(root, before)
  const position = positional.length
  if (open !== undefined) return optionValues(open, word, given)
  const assigned = /^(--[^=]+)=/.exec(word)
  if (assigned) {
    const option = command.options.find(({ long }) => long === assigned[1])
    if (option === undefined) return nothing
    const { candidates, also } = await optionValues(option, valueOf(word), given)
    return { candidates: candidates.map(({ text, ...rest }) => ({ text: `${assigned[1]}=${text}`, ...rest })), also }
  }
  if (word.startsWith('-')) return { candidates: flagsOf(command), also: '' }
  const subcommands = subcommandsOf(command)
  if (subcommands.length > 0 && position === 0) return { candidates: subcommands, also: '' }
  const argument = argumentAt(command, position)
  if (argument === undefined) return nothing
  const candidates = candidatesOf.get(argument)
  if (candidates !== undefined)
    return texts(await withClient(given, (client) => candidates({ arguments: positional, options: given, client })))
  return valuesOf(`<${argument.name()}>`, argument.description, word, given)
}

interface Place {
  readonly command: Command
  readonly given: Given
  /** The complete arguments. */
  readonly positional: readonly string[]
  /** The flag whose value is being completed. */
  readonly open: Option | undefined
}

/** Parses the words before the one being completed. */
function walk(root: Command, words: readonly string[]): Place {
  let command = root
  const positional: string[] = []
  let open: Option | undefined
  const given: Record<string, string | undefined> = {}
  for (const word of words) {
    if (open !== undefined) {
      given[open.attributeName()] = word
      open = undefined
      continue
    }
    if (word.startsWith('-') && word !== '-') {
      const [flag, value] = word.split(/=(.*)/s, 2)
      const option = command.options.find(({ long, short }) => flag === long || flag === short)
      if (option === undefined || option.isBoolean()) continue
      if (value === undefined) open = option
      else given[option.attributeName()] = value
      continue
    }
    const next = command.commands.find((candidate) => [candidate.name(), ...candidate.aliases()].includes(word))
    if (next !== undefined && positional.length === 0) command = next
    else positional.push(word)
  }
  return { command, given, positional, open }
}

function subcommandsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((child) => ({ text: child.name(), description: child.summary() }))
}

function flagsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ text: long ?? short ?? '', description }))
}

function argumentAt({ registeredArguments }: Command, position: number): Argument | undefined {
  const last = registeredArguments.at(-1)
  return registeredArguments[position] ?? (last?.variadic === true ? last : undefined)
}

async function optionValues({ flags, description, argChoices }: Option, word: string, given: Given): Promise<Answer> {
  return argChoices === undefined ? valuesOf(flags, description, word, given) : texts(argChoices)
}

/** Returns candidates for a value, by its placeholder and description. */
async function valuesOf(flags: string, description: string, word: string, given: Given): Promise<Answer> {
  const placeholder = /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1]?.replace(/\.\.\.$/, '') ?? ''
  if (/^folder$/.test(placeholder)) return { candidates: [], also: 'folders' }
  if (/^(file|files|path)$/.test(placeholder)) return { candidates: [], also: 'files' }
  if (placeholder === 'namespace') return texts(await namespaceNames(given))
  if (flags.includes('--context')) return texts(await contextNames(given))
  if (flags.includes('--only'))
    return texts(
      listed(
        word,
        capabilities.map(({ name }) => name),
      ),
    )
  if (flags.includes('--example')) {
    const { exampleNames } = await import('../up/example-names.ts')
    return texts(exampleNames())
  }
  const kinds = [...description.matchAll(/\b(\w+)\/NAME\b/g)].map(([, kind]) => kind as string)
  if (kinds.length > 0) return texts(await resourceNames(kinds, word, given))
  return texts(choicesIn(description))
}

function texts(names: readonly string[]): Answer {
  return { candidates: names.map((text) => ({ text })), also: '' }
}

/** Completes the last of comma-separated names. */
function listed(word: string, names: readonly string[]): string[] {
  const written = word.split(',').slice(0, -1)
  return names.filter((name) => !written.includes(name)).map((name) => [...written, name].join(','))
}

/** Returns the choices in a description such as `table, json or yaml`, without parenthesized explanations. */
function choicesIn(description: string): string[] {
  const plain = description.replaceAll(/ \([^)]*\)/g, '').replace(/^.*: /, '')
  return /^[a-z-]+(, [a-z-]+)* or [a-z-]+$/.test(plain) ? plain.split(/, | or /) : []
}

function valueOf(word: string): string {
  return /^--[^=]+=(.*)$/s.exec(word)?.[1] ?? word
}
