// `fairlead repo sync`.
import type { CommandContext } from '@fairlead/controller/command'
import { DurationError, formatTime, parseGoDuration } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'
import { RepositoryKind } from '../../api.ts'
import type { Repository } from '../../api.ts'
import { forEach, withPorchErrors } from '../porch-errors.ts'

interface Options {
  readonly namespace: string | undefined
  readonly all: boolean
  readonly allNamespaces: boolean
  readonly runOnce: string | undefined
}

/** Sets the time at which repositories are read once more. */
export function run(context: CommandContext<Options, { readonly repositories: readonly string[] }>): Promise<number> {
  return withPorchErrors(context, async () => {
    const client = await context.client()
    const { options } = context
    const namespace = options.namespace ?? client.namespace
    const runOnceAt = formatTime(timeOf(options.runOnce, client.clock.now()))
    const names = context.arguments.repositories.map((name) => ({ namespace, name }))
    if (names.length === 0 && !options.all) throw new CommandError('repository name(s) required unless --all is set')
    const keys = options.all
      ? (await client.list(RepositoryKind, options.allNamespaces ? {} : { namespace })).items.map(keyOf)
      : names
    if (keys.length === 0) throw new CommandError(`no repositories found in namespace "${namespace}"`)
    return forEach(
      keys.map(({ namespace: place, name }) => `${place}/${name}`),
      context,
      async (key) => {
        await client.patch(RepositoryKind, key, { merge: { spec: { sync: { runOnceAt } } } })
        context.out(`Repository ${key} is read at ${runOnceAt}`)
      },
    )
  })
}

function keyOf({ metadata }: Repository): { readonly namespace: string; readonly name: string } {
  return { namespace: metadata.namespace!, name: metadata.name! }
}

function timeOf(text: string | undefined, now: number): number {
  if (text === undefined) return now
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  try {
    return now + parseGoDuration(text)
  } catch (error) {
    if (!(error instanceof DurationError)) throw error
    throw new CommandError('invalid --run-once value', 1, { cause: error })
  }
}
