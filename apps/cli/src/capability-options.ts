// Parses the flags that `fairlead up` and `fairlead run` share.
import { capabilities } from './capabilities.ts'
import type { CapabilityEntry } from './capabilities.ts'
import { usageError } from '@fairlead/offline/command-error'

/** Settings by capability and name. */
export type CapabilitySettings = ReadonlyMap<string, ReadonlyMap<string, string>>

/** Parses values of `--resolve`. Throws a usage error. */
export async function parseResolve(values: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (values.length === 0) return new Map()
  const { hostAddresses } = await import('@fairlead/offline')
  return hostAddresses(values)
}

/** Parses values of `--set`. Throws a usage error. */
export function parseSettings(values: readonly string[]): CapabilitySettings {
  const settings = new Map<string, Map<string, string>>()
  for (const value of values) {
    const [, of = '', name = '', set = ''] = /^([^.=]+)\.([^=]+)=(.*)$/.exec(value) ?? []
    const entry = capabilities.find((one) => isNamed(one, of))
    if (entry === undefined)
      throw usageError(
        `--set ${value}: write <capability>.<name>=<value>; the capabilities are ${capabilities.map((one) => one.name).join(', ')}`,
      )
    settings.set(entry.name, (settings.get(entry.name) ?? new Map<string, string>()).set(name, set))
  }
  return settings
}

/** Parses the value of a flag that names a port. Throws a usage error. */
export function parsePort(text: string, flag = '--port'): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535)
    throw usageError(`${flag} ${text} is not a port: write a number from 0 to 65535 (0 takes any free one)`)
  return port
}

/** Parses the value of `--only`; returns the capabilities in start order. Throws a usage error. */
export function parseOnly(text: string): readonly CapabilityEntry[] {
  const known = capabilities.map((entry) => entry.name).join(', ')
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length === 0) throw usageError(`--only names no capability: write one or more of ${known}, or leave it out`)
  const unknown = names.filter((name) => !capabilities.some((entry) => isNamed(entry, name)))
  if (unknown.length > 0)
    throw usageError(`--only ${text}: there is no capability ${unknown.join(', ')}; there are ${known}`)
  return capabilities.filter((entry) => names.some((name) => isNamed(entry, name)))
}

function isNamed({ name, aliases = [] }: CapabilityEntry, wanted: string): boolean {
  return name === wanted || aliases.includes(wanted)
}
