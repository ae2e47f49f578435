// Declares `fairlead completion SHELL`, and the hidden command that the shells' scripts call.
import type { Command } from 'commander'

/** Adds both commands. */
export function addCompletionCommands(root: Command): void {
  root
    .command('completion')
    .description('print the completion script for a shell: bash, zsh, fish or powershell')
    .argument('<shell>', 'bash, zsh, fish or powershell')
    .addHelpText(
      'before',
      'Examples:\n  source <(fairlead completion bash)\n  fairlead completion zsh > "${fpath[1]}/_fairlead"\n  fairlead completion fish > ~/.config/fish/completions/fairlead.fish\n  fairlead completion powershell | Out-String | Invoke-Expression\n',
    )
    .action(async (shell: string) => {
      const { completionScript } = await import('./scripts.ts')
      process.stdout.write(completionScript(shell))
    })
  root
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: readonly string[]) => {
      const { completionResponse } = await import('./complete.ts')
      process.stdout.write(await completionResponse(words))
    })
}
