// `fairlead why`: what one object waits for.
import { findCauses } from '@fairlead/controller'
import type { Causes, CommandContext, Unreadable } from '@fairlead/controller'
import type { Client } from '@fairlead/client'
import { exitCode, formatStructured } from '@fairlead/offline'
import { nodeData } from './graph-data.ts'
import { withSession } from './session.ts'
import { unreadableLines } from './unreadable-text.ts'
import { verdictOf } from './verdict.ts'
import type { Verdict } from './verdict.ts'
import { warningEvents } from './warning-events.ts'
import type { WarningEvent } from './warning-events.ts'
import { whyLines } from './why-text.ts'

interface Options {
  readonly namespace: string | undefined
  readonly all: boolean
  readonly output: 'text' | 'json' | 'yaml'
}

/** Causes whose events are read. */
const causesWithEvents = 10

type EventsByKey = ReadonlyMap<string, readonly WarningEvent[]>

/** Prints what is waited for. Exit code 0 when the object is ready, 3 when it is not or that is not known. */
export async function run(
  context: CommandContext<Options, { readonly object: string; readonly name: string | undefined }>,
): Promise<number> {
  const { output, all } = context.options
  const { causes, events, unreadable } = await withSession(
    context,
    async ({ client, object, lookup, unreadable: failed }) => {
      const found = await findCauses(object, lookup)
      const read = await eventsOf(found, client, context.signal)
      return { causes: found, events: read.events, unreadable: [...failed(), ...read.unreadable] }
    },
  )
  const verdict = verdictOf(causes, unreadable)
  if (output !== 'text') context.out(formatStructured(whyData(causes, verdict, events, unreadable), output))
  else
    context.out(
      [...whyLines(causes, events, all), ...closing(causes, verdict), ...unreadableLines(unreadable)].join('\n'),
    )
  return verdict === 'Ready' ? exitCode.ok : exitCode.notReady
}

/** Returns the line that says that there is no cause to be seen. */
function closing({ causes }: Causes, verdict: Verdict): readonly string[] {
  if (causes.length > 0) return []
  return ['', verdict === 'Unknown' ? 'Nothing is waited for, as far as you can read.' : 'Nothing is waited for.']
}

/** Returns the Warning events of the object and of its first causes, and why some cannot be read. */
async function eventsOf(
  { root, causes }: Causes,
  client: Client,
  signal: AbortSignal,
): Promise<{ readonly events: EventsByKey; readonly unreadable: readonly Unreadable[] }> {
  const nodes = new Map(
    [root, ...causes.slice(0, causesWithEvents).map(({ steps }) => steps.at(-1)!.node)].map((node) => [node.key, node]),
  )
  const events = new Map<string, readonly WarningEvent[]>()
  const unreadable = new Map<string, Unreadable>()
  await Promise.all(
    [...nodes.values()].map(async ({ key, state, reference: { uid, namespace } }) => {
      if (uid === undefined || state === 'Ready') return
      const found = await warningEvents(client, { uid, namespace }, signal)
      if ('verb' in found) unreadable.set(`${found.reason} ${found.namespace}`, found)
      else events.set(key, found)
    }),
  )
  return { events, unreadable: [...unreadable.values()] }
}

/** Returns causes for programs. The form is stable: fields are added, not renamed. */
function whyData(
  { root, causes }: Causes,
  verdict: Verdict,
  events: EventsByKey,
  unreadable: readonly Unreadable[],
): object {
  return {
    object: { ...nodeData(root), events: eventData(events.get(root.key)) },
    verdict,
    causes: causes.map(({ steps, cycle }) => ({
      steps: steps.map(({ node, by, problem }) => ({
        ...(by === undefined ? {} : { relation: by }),
        ...(problem === undefined ? {} : { problem }),
        ...nodeData(node),
      })),
      ...(cycle === undefined ? {} : { cycle: cycle.map(({ key }) => key) }),
      events: eventData(events.get(steps.at(-1)!.node.key)),
    })),
    unreadable,
  }
}

function eventData(events: readonly WarningEvent[] = []): readonly object[] {
  return events.map(({ reason, message, count, lastSeen }) => ({ reason, message, count, lastSeen }))
}
