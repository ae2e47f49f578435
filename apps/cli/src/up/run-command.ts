// `fairlead up -- COMMAND`: runs a command with the kubeconfig of the server, which stops after it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { CommandError } from '@fairlead/offline/command-error'

/** Exit codes of commands that cannot be started, as shells report them. */
const notFound = 127
const notExecutable = 126

/**
 * Runs a command to its end with `KUBECONFIG` set; resolves with its exit code, 128 and more for a signal. `signal`
 * aborts with the name of the signal that this process received, which is passed on. Throws CommandError when the
 * command cannot be started.
 */
export async function runCommand(words: readonly string[], kubeconfig: string, signal: AbortSignal): Promise<number> {
  const [program = '', ...args] = words
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, KUBECONFIG: kubeconfig } })
  const kill = (): void => void child.kill('SIGKILL')
  const forward = (): void => {
    // Ctrl-C on a terminal reaches the whole process group by itself.
    if (signal.reason !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal.reason as NodeJS.Signals)
  }
  process.once('exit', kill)
  signal.addEventListener('abort', forward, { once: true })
  try {
    const [code, ended] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return code ?? 128 + constants.signals[ended!]
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code === 'ENOENT'
      ? new CommandError(`${program}: command not found`, notFound)
      : new CommandError(`${program} cannot be run: ${message}`, notExecutable)
  } finally {
    process.off('exit', kill)
    signal.removeEventListener('abort', forward)
  }
}
