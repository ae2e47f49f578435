// The form of every command's help: what it does, examples, then usage and flags.
import type { Command } from 'commander'

/** Sets summary and examples of a command. `more` is printed after the flags: lists, environment variables. */
export function describe(command: Command, summary: string, examples: readonly string[], more = ''): Command {
  const sentence = `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}`
  command.summary(sentence)
  if (examples.length > 0)
    command.addHelpText('before', `${sentence}.\n\nExamples:\n${examples.map((line) => `  ${line}\n`).join('')}`)
  return more === '' ? command : command.addHelpText('after', `\n${more}`)
}
