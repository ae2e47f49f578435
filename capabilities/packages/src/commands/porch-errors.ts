// Errors of the commands that replace porchctl: printed as porchctl prints them, so that scripts that read them go on
// working.
import { StatusError } from '@fairlead/kube'
import { CommandError, exitCode } from '@fairlead/offline/command-error'

interface Output {
  readonly err: (text: string) => void
}

/** Runs a command; prints its errors as porchctl does and returns the exit code. */
export async function withPorchErrors({ err }: Output, run: () => Promise<number | void>): Promise<number> {
  try {
    return (await run()) ?? exitCode.ok
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === exitCode.usage) {
      err(`error: ${error.message}`)
      return exitCode.error
    }
    if (error instanceof StatusError || error instanceof CommandError) {
      err(`Error: ${error.message} `)
      return exitCode.error
    }
    throw error
  }
}

/** Runs a command for each of several objects; reports every failure, and all together at the end. */
export async function forEach(
  names: readonly string[],
  { err }: Output,
  run: (name: string) => Promise<void>,
): Promise<number> {
  const failures: string[] = []
  for (const name of names) {
    try {
      await run(name)
    } catch (error) {
      if (!(error instanceof StatusError || error instanceof CommandError)) throw error
      failures.push(error.message)
      err(`${name} failed (${error.message})`)
    }
  }
  if (failures.length === 0) return exitCode.ok
  err(`Error: errors:\n  ${failures.join('\n  ')} `)
  return exitCode.error
}
