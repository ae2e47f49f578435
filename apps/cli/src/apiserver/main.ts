// The program `fairlead-apiserver`, which is `fairlead apiserver`: the API server alone, with the flags of
// kube-apiserver. Help and mistakes in flags load nothing of the server.
import { CommandError, exitCode } from '@fairlead/offline/command-error'
import { errorMessage } from '../error-message.ts'
import { version } from '../version.ts'
import { parseFlags } from './flags.ts'
import { apiserverHelp } from './help.ts'
import { honouredFlags, isIgnored } from './known-flags.ts'
import { programOptions } from './options.ts'

/** Runs the program under its own name; sets the exit code: 0, 1 error, 2 usage. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    await runApiserver(args, 'fairlead-apiserver')
  } catch (error) {
    process.stderr.write(`fairlead-apiserver: ${errorMessage(error)}\n`)
    process.exitCode = error instanceof CommandError ? error.exitCode : exitCode.error
  }
}

/** Runs the program until a signal stops it. Throws CommandError. */
export async function runApiserver(args: readonly string[], name: string): Promise<void> {
  const flags = parseFlags(
    args.map((arg) => (arg === '-h' ? '--help' : arg)),
    honouredFlags,
  )
  if (flags.values.has('help')) return void process.stdout.write(apiserverHelp(name))
  if (flags.values.has('version')) return void process.stdout.write(`Fairlead ${version()}\n`)
  const options = programOptions(flags)
  for (const flag of flags.unknown) if (!isIgnored(flag)) process.stderr.write(`${name}: --${flag} is ignored\n`)
  // Loads the API server.
  const { serve } = await import('./serve.ts')
  await serve(options, name)
}
