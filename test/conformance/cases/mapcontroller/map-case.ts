// Cases of mapcontroller.json as they are read: keys checked, defaults filled in. Their types are those of
// @fairlead/metacontroller.
import type { CaseResource, CaseTrigger, MapCaseInput, MapCaseWant, NamedHooksSpec } from '@fairlead/metacontroller'
import type { Case, CaseFile } from '../case-file.ts'
import type { Area } from '../suite.ts'

/** `input`, with empty lists where the case has none, of a controller whose hooks are only named. */
export type MapInput = Required<Omit<MapCaseInput, 'unlistable' | 'controller'>> &
  Pick<MapCaseInput, 'unlistable'> & {
    readonly controller: { readonly name: string; readonly spec: NamedHooksSpec }
  }

/** A case, and the kinds of its file. */
export interface MapCase {
  readonly input: MapInput
  readonly want: MapCaseWant
  readonly resources: readonly CaseResource[]
}

/** The keys of the area `map`. */
export const mapArea: Area = {
  input: ['trigger', 'controller', 'parent', 'inputs', 'outputs', 'hooks', 'unlistable'],
  want: [
    'mapCalled',
    'tombstoneCalled',
    'mapCalls',
    'mapFirstRequest',
    'tombstoneFirstRequest',
    'writes',
    'writesInOrder',
    'unchanged',
    'status',
    'events',
    'requeue',
  ],
}

const triggerKeys: Readonly<Record<CaseTrigger['type'], readonly string[]>> = {
  'full-sync': [],
  'input-added': ['ref'],
  'input-updated': ['ref', 'oldLabels'],
  'input-deleted': ['ref'],
  'output-deleted': ['ref', 'wasTaggedFor'],
  'parent-spec-updated': [],
  'parent-status-updated': [],
  'clock-advance': ['seconds'],
}

/** Returns the unknown keys within the parts of a case; a case that has any fails. */
export function unknownParts({ input, want }: MapCase): string[] {
  const unknown: string[] = []
  const check = (at: string, value: object | undefined, keys: readonly string[]): void => {
    for (const key of Object.keys(value ?? {})) if (!keys.includes(key)) unknown.push(`${at}.${key}`)
  }
  const trigger = triggerKeys[input.trigger.type] as readonly string[] | undefined
  if (trigger === undefined) unknown.push(`input.trigger.type ${input.trigger.type}`)
  check('input.trigger', input.trigger, ['type', 'startFrom', ...(trigger ?? [])])
  check('input.controller', input.controller, ['name', 'spec'])
  check('input.hooks', input.hooks, ['map', 'tombstone', 'mapDefault', 'tombstoneDefault'])
  for (const output of input.outputs)
    check('input.outputs[]', output, ['object', 'owner', 'taggedFor', 'taggedBy', 'lastApplied'])
  for (const requests of [want.mapFirstRequest, want.tombstoneFirstRequest]) {
    for (const request of Object.values(requests ?? {})) check('want.firstRequest', request, ['outputs', 'absent'])
  }
  const writeKeys = ['op', 'ref', 'taggedFor', 'controllerRef', 'preconditionUid', 'propagationPolicy', 'resultSpec']
  for (const write of want.writes ?? []) check('want.writes[]', write, writeKeys)
  for (const event of want.events ?? []) check('want.events[]', event, ['on', 'type', 'reason'])
  check('want.requeue', want.requeue, ['kind', 'seconds', 'scope'])
  return unknown
}

/** Reads a case. */
export function readMapCase(entry: Case, file: CaseFile): MapCase {
  const { resources } = file.more as { readonly resources?: readonly CaseResource[] }
  const input = { inputs: [], outputs: [], hooks: {}, ...entry.input } as unknown as MapInput
  return { input, want: entry.want as unknown as MapCaseWant, resources: resources ?? [] }
}
