// Lists that a command could not read, in a few lines.
import type { Unreadable } from '@fairlead/controller'
import { terminalText } from '@fairlead/offline'

const reasons: Readonly<Record<Unreadable['reason'], string>> = {
  Forbidden: 'you have no right to',
  NotServed: 'the server does not serve',
  Failed: 'the server failed to',
  TooMany: 'the limit of requests ended before',
}

/** Names of kinds that are shown for each reason and namespace. */
const shownNames = 6

/** Returns lines that say which lists could not be read; none when all could. Objects are shown in the graph. */
export function unreadableLines(unreadable: readonly Unreadable[]): readonly string[] {
  const lists = unreadable.filter(({ name, reason }) => name === undefined && reason !== 'NotServed')
  if (lists.length === 0) return []
  const groups = Map.groupBy(lists, ({ reason, namespace = '', message }) =>
    reason === 'Failed' ? `${reason} ${message}` : `${reason} ${namespace}`,
  )
  const lines = [...groups.values()].map((group) => {
    const { reason, verb, namespace, message } = group[0]!
    const all = group.map(({ resource }) => resource).toSorted()
    const more = all.length > shownNames ? ` and ${all.length - shownNames} more kinds (-o json lists them)` : ''
    const names = all.slice(0, shownNames)
    const place = namespace === undefined ? 'in the whole cluster' : `in namespace ${namespace}`
    const detail = reason === 'Failed' ? `: ${message.replaceAll(/\s+/g, ' ')}` : ''
    return `- ${reasons[reason]} ${verb} ${names.join(', ')}${more} ${place}${detail}`
  })
  return ['', 'There may be more, which cannot be read:', ...lines.map((line) => terminalText(line))]
}
