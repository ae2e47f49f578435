// kappnav.json: mapping, merge, patterns, commands and status on the engine of @fairlead/actions.
import { sandbox } from './shorthand.ts'
import type { Case } from '../case-file.ts'
import type { Disagreement } from '../comparison.ts'
import { sameValue } from '../comparison.ts'
import type { Area, Suite } from '../suite.ts'
import { playCommand } from './command.ts'
import { playPatterns } from './patterns.ts'
import { catalogOf, configMapsOf, jsonOf, kamsOf, resourceOf } from './shorthand.ts'
import {
  enablementOf,
  evaluateStatus,
  findStatusMap,
  mergedForm,
  parseStatusMap,
  selectsComponent,
  splitCommandLine,
  targetOf,
  MappingIndex,
  parseMapping,
} from '@fairlead/actions'
import type { JsonObject, LabelSelector } from '@fairlead/kube'

interface Player extends Area {
  play(input: Case['input'], want: Case['want']): Promise<readonly Disagreement[]> | readonly Disagreement[]
}

const players: Readonly<Record<string, Player>> = {
  mapping: {
    input: ['resource', 'kams'],
    want: ['candidates'],
    play(input, want) {
      const { candidates } = new MappingIndex(kamsOf(input).map(parseMapping)).candidates(targetOf(resourceOf(input)))
      return sameValue(
        'candidates',
        want.candidates,
        candidates.map(({ name, namespace }) => `${name}@${namespace}`),
      )
    },
  },
  merge: {
    input: ['resource', 'kams', 'configmaps'],
    want: ['merged'],
    play: (input, want) =>
      sameValue('merged', want.merged, mergedForm(catalogOf(input).resolve(resourceOf(input)).merged)),
  },
  pattern: {
    input: ['resource', 'configmaps', 'objects', 'maps', 'values', 'patterns'],
    want: ['results'],
    parts: { 'input.patterns[]': ['pattern', 'definedIn'], 'input.maps[]': ['name', 'variables', 'snippets'] },
    play: playPatterns,
  },
  command: {
    input: ['settings', 'resource', 'actions', 'inputs', 'snippets', 'request'],
    want: ['status', 'error', 'jobs'],
    parts: {
      'input.settings': ['namespace', 'serviceAccountName'],
      'input.request': ['action', 'apiVersion', 'kind', 'namespace', 'name', 'application', 'body', 'user'],
    },
    play: playCommand,
  },
  'command-line': {
    input: ['line'],
    want: ['argv'],
    play: (input, want) => sameValue('argv', want.argv, splitCommandLine(String(input.line))),
  },
  status: {
    input: ['resource', 'configmaps', 'kams'],
    want: ['map', 'status'],
    async play(input, want) {
      const maps = configMapsOf(input)
      const resource = resourceOf(input)
      const { candidates } = new MappingIndex(kamsOf(input).map(parseMapping)).candidates(targetOf(resource), 'status')
      const found = findStatusMap(candidates, (namespace, name) =>
        maps.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
      )
      const map = found && parseStatusMap(found).map
      const { value, flyover } = await evaluateStatus(map, resource, sandbox.run)
      return [
        ...(want.map === undefined ? [] : sameValue('map', want.map, map)),
        ...(want.status === undefined ? [] : sameValue('status', want.status, { value, flyover })),
      ]
    },
  },
  menu: {
    input: ['type', 'action', 'resource'],
    want: ['shown'],
    play: (input, want) =>
      sameValue('shown', want.shown, enablementOf(jsonOf(input.action), (input.resource ?? {}) as JsonObject).isShown),
  },
  application: {
    input: ['matchLabels', 'labels'],
    want: ['match'],
    play(input, want) {
      const selector = input.matchLabels === null ? null : ({ matchLabels: input.matchLabels } as LabelSelector)
      return sameValue('match', want.match, selectsComponent(selector, input.labels as Record<string, string> | null))
    },
  },
}

/** The suite. */
export const suite: Suite = {
  areas: players,
  run: async ({ area, input, want }) => players[area]!.play(input, want),
}
