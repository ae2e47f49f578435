// Declares `fairlead completion SHELL`, and the hidden command that the shells' scripts call.
import type { Command } from 'commander'
import { describe } from '../help-text.ts'
import type { ProgramOf } from './complete.ts'

/** Adds both commands; `program` returns the tree whose words are completed. */
export function addCompletionCommands(root: Command, program: ProgramOf): void {
  const completion = root
    .command('completion')
    .argument('<shell>', 'bash, zsh, fish or powershell')
    .action(async (shell: string) => {
      const { completionScript } = await import('./scripts.ts')
      process.stdout.write(completionScript(shell))
    })
  describe(completion, 'print the completion script for a shell: bash, zsh, fish or powershell', [
    'source <(fairlead completion bash)',
    'fairlead completion zsh > "${fpath[1]}/_fairlead"',
    'fairlead completion fish > ~/.config/fish/completions/fairlead.fish',
    'fairlead completion powershell | Out-String | Invoke-Expression',
  ])
  root
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: readonly string[]) => {
      const { completionResponse } = await import('./complete.ts')
      process.stdout.write(await completionResponse(program, words))
    })
}
