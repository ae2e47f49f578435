// States of objects on a terminal: a mark, a word, and a colour where there are colours.
import { styleText } from 'node:util'
import type { ObjectReference, ObjectState, StateName } from '@fairlead/controller'
import { terminalText } from '@fairlead/offline'

interface Style {
  readonly mark: string
  readonly word: string
  readonly colour: 'green' | 'red' | 'yellow' | 'gray'
}

/** Mark, word and colour of each state. */
export const stateStyles: Readonly<Record<StateName, Style>> = {
  Ready: { mark: '✓', word: 'Ready', colour: 'green' },
  NotReady: { mark: '✗', word: 'Not ready', colour: 'red' },
  Waiting: { mark: '…', word: 'Waiting', colour: 'yellow' },
  Terminating: { mark: '⊘', word: 'Being deleted', colour: 'yellow' },
  Exists: { mark: '·', word: 'Exists', colour: 'gray' },
  Missing: { mark: '∅', word: 'Missing', colour: 'red' },
  Unknown: { mark: '?', word: 'Cannot be read', colour: 'yellow' },
}

/** Returns text in the colour of a state, where standard output shows colours. */
export function inColour(state: StateName, text: string): string {
  return styleText(stateStyles[state].colour, text, { stream: process.stdout })
}

/** Returns `Kind/name`, with the namespace where it is not the one that is expected. */
export function objectName({ kind, namespace, name }: ObjectReference, expected: string | undefined): string {
  const place = namespace === undefined || namespace === expected ? '' : ` in ${namespace}`
  return terminalText(`${kind}/${name}${place}`)
}

/**
 * Returns reason and message in one line, cut to `width` characters: `Draft: it is a draft`. A reason that is the name
 * of the state is left out.
 */
export function reasonText(
  { state, reason, message }: Pick<ObjectState, 'reason' | 'message'> & Partial<ObjectState>,
  width: number = Infinity,
): string {
  const parts = [reason === state ? '' : reason, message.replaceAll(/\s+/g, ' ').trim()].filter((part) => part !== '')
  const text = terminalText(parts.join(': '))
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
}
