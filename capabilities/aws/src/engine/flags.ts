// Settings of the process that ACK's controllers have as flags, under their names. Pure.
import { SettingError } from '@fairlead/controller'
import type { PlacementSettings } from './placement.ts'
import type { Settings } from './reconcile-input.ts'
import { parseTemplates } from './tag-template.ts'
import type { TagTemplate } from './tag-template.ts'
import type { ResourceKind } from './resource-kind.ts'

/** The flags of a process. */
export interface Flags extends Pick<Settings, 'deletionPolicy' | 'resync'>, Omit<PlacementSettings, 'region'> {
  /** Tags of created resources, with their templates. */
  readonly resourceTags?: readonly TagTemplate[]
  /** Set when references may cross namespaces without a ReferenceGrant. */
  readonly crossNamespace: boolean
  /** Set when values that the service filled in are copied into specs. */
  readonly lateInitialize: boolean
  /** Milliseconds until a resource in the wanted state is read again, by the kind in lower case. */
  readonly resyncOf: ReadonlyMap<string, number>
}

/** Milliseconds until a resource in the wanted state is read again: ACK's ten hours. */
const defaultResync = 36_000_000

/** Longest period in seconds: one year. */
const longestResync = 31_536_000

type Parse = (flags: Flags, value: string, kinds: readonly ResourceKind[]) => Flags

const parsers: Readonly<Record<string, Parse>> = {
  'deletion-policy': (flags, value) => {
    if (value !== 'delete' && value !== 'retain')
      throw new SettingError(`deletion-policy=${value}: write delete or retain`)
    return { ...flags, deletionPolicy: value }
  },
  'enable-cross-namespace': (flags, value) => {
    if (value !== 'true' && value !== 'false')
      throw new SettingError(`enable-cross-namespace=${value}: write true or false`)
    return { ...flags, crossNamespace: value === 'true' }
  },
  'late-initialize': (flags, value) => {
    if (value !== 'true' && value !== 'false') throw new SettingError(`late-initialize=${value}: write true or false`)
    return { ...flags, lateInitialize: value === 'true' }
  },
  'allowed-endpoint-urls': (flags, value) => ({
    ...flags,
    endpointUrls: value.split(',').map((url) => {
      if (!/^https?:$/.test(URL.parse(url.trim())?.protocol ?? ''))
        throw new SettingError(
          `allowed-endpoint-urls=${value}: write URLs such as https://aws.example:4566, with commas`,
        )
      return url.trim()
    }),
  }),
  'aws-account-id': (flags, value) => {
    if (!/^\d{12}$/.test(value))
      throw new SettingError(`aws-account-id=${value}: write the twelve digits of an account`)
    return { ...flags, accountId: value }
  },
  'resource-tags': (flags, value) => ({ ...flags, resourceTags: parseTemplates(value) }),
  'reconcile-default-resync-seconds': (flags, value) => ({
    ...flags,
    resync: parseSeconds(value, `reconcile-default-resync-seconds=${value}`),
  }),
  'reconcile-resource-resync-seconds': (flags, value, kinds) => ({
    ...flags,
    resyncOf: new Map(
      value.split(',').map((entry): [string, number] => {
        const at = `reconcile-resource-resync-seconds=${value}`
        const [name = '', seconds = ''] = entry.split('=').map((part) => part.trim())
        if (!kinds.some(({ kind }) => kind.toLowerCase() === name.toLowerCase()))
          throw new SettingError(
            `${at}: there is no kind ${name}; write <kind>=<seconds>, with commas, for ${kinds.map(({ kind }) => kind).join(', ')}`,
          )
        return [name.toLowerCase(), parseSeconds(seconds, at)]
      }),
    ),
  }),
}

/** Names of the flags of ACK that are taken. */
export const flagNames: readonly string[] = Object.keys(parsers)

/**
 * Parses flags of ACK, without their dashes.
 * @throws SettingError
 */
export function parseFlags(
  given: ReadonlyMap<string, string>,
  kinds: readonly ResourceKind[],
  fallback: Pick<Flags, 'crossNamespace'>,
): Flags {
  let flags: Flags = {
    ...fallback,
    deletionPolicy: 'delete',
    lateInitialize: false,
    resync: defaultResync,
    resyncOf: new Map(),
  }
  for (const [name, value] of given) {
    const parse = parsers[name]
    if (parse === undefined)
      throw new SettingError(`${name}: there is no such setting; there are ${flagNames.join(', ')}`)
    flags = parse(flags, value, kinds)
  }
  return flags
}

/** Returns a kind with the period of the flags, which goes before the generator's own (originals/ack.md §3.7). */
export function withResync(kind: ResourceKind, { resyncOf }: Pick<Flags, 'resyncOf'>): ResourceKind {
  const resync = resyncOf.get(kind.kind.toLowerCase())
  return resync === undefined ? kind : { ...kind, resync }
}

function parseSeconds(value: string, at: string): number {
  const seconds = Number(value)
  if (!/^\d+$/.test(value) || seconds < 1 || seconds > longestResync)
    throw new SettingError(`${at}: write a number of seconds from 1 to ${longestResync}`)
  return seconds * 1000
}
