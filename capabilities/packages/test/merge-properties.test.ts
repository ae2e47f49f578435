// Laws of the three-way merge on random packages.
import { parseYamlDocuments } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { PackageFiles, UpdatedPackage } from '@fairlead/packages'
import { updatePackage } from '@fairlead/packages'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Edit } from './random-packages.ts'
import { edited, edits, filesOf, packages } from './random-packages.ts'

function merge(base: PackageFiles, upstream: PackageFiles, local: PackageFiles, onConflict?: 'local'): UpdatedPackage {
  return updatePackage({ base, upstream, local, strategy: 'resource-merge', onConflict })
}

/** Returns the values by path; lists by the names of their elements, whose order the laws leave open. */
function values(files: PackageFiles): Record<string, unknown> {
  return Object.fromEntries([...files].map(([path, content]) => [path, byName(parseYamlDocuments(String(content)))]))
}

function byName(value: JsonValue): unknown {
  if (Array.isArray(value)) {
    const name = (element: unknown): string => {
      const { name: own, port, protocol } = element as { name?: string; port?: number; protocol?: string }
      return own ?? (port === undefined ? '' : `${port}/${protocol}`)
    }
    return (value as JsonValue[]).map(byName).toSorted((a, b) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, byName(child)]))
}

const runs = { numRuns: 60 }

describe('a three-way merge', () => {
  test('keeps the local package when upstream did not change', () => {
    fc.assert(
      fc.property(packages, edits, (base, changes) => {
        const { conflicts, files } = merge(filesOf(base), filesOf(base), filesOf(edited(base, changes)))
        expect({ conflicts, files: values(files) }).toEqual({
          conflicts: [],
          files: values(filesOf(edited(base, changes))),
        })
      }),
      runs,
    )
  })

  test('gives the upstream package when nothing changed locally', () => {
    fc.assert(
      fc.property(packages, edits, (base, changes) => {
        const { conflicts, files } = merge(filesOf(base), filesOf(edited(base, changes)), filesOf(base))
        expect({ conflicts, files: values(files) }).toEqual({
          conflicts: [],
          files: values(filesOf(edited(base, changes))),
        })
      }),
      runs,
    )
  })

  test('keeps what both sides changed alike', () => {
    fc.assert(
      fc.property(packages, edits, (base, changes) => {
        const both = filesOf(edited(base, changes))
        const { conflicts, files } = merge(filesOf(base), both, both)
        expect({ conflicts, files: values(files) }).toEqual({ conflicts: [], files: values(both) })
      }),
      runs,
    )
  })

  test('of disjoint edits is the same from either side and has no conflict', () => {
    fc.assert(
      fc.property(packages, edits, edits, (base, first, second) => {
        const { one, two } = disjoint(first, second)
        const [upstream, local] = [filesOf(edited(base, one)), filesOf(edited(base, two))]
        const forward = merge(filesOf(base), upstream, local)
        const backward = merge(filesOf(base), local, upstream)
        const both = values(filesOf(edited(edited(base, one), two)))
        expect([forward.conflicts, backward.conflicts]).toEqual([[], []])
        expect([values(forward.files), values(backward.files)]).toEqual([both, both])
      }),
      runs,
    )
  })

  test('has nothing to do when it is repeated from the new base', () => {
    fc.assert(
      fc.property(packages, edits, edits, (base, first, second) => {
        const upstream = filesOf(edited(base, first))
        const once = merge(filesOf(base), upstream, filesOf(edited(base, second))).files
        const again = merge(upstream, upstream, once)
        expect({ conflicts: again.conflicts, files: [...again.files] }).toEqual({ conflicts: [], files: [...once] })
      }),
      runs,
    )
  })

  test('that prefers local values never changes a value that was edited locally', () => {
    fc.assert(
      fc.property(packages, edits, edits, (base, first, second) => {
        const isValueEdit = ({ at, value }: Edit): boolean => at.startsWith('data/') && value !== undefined
        const local = edited(base, second.filter(isValueEdit))
        const upstream = edited(
          base,
          first.filter(({ at }) => at !== 'resource' && at !== 'move'),
        )
        const merged = values(merge(filesOf(base), filesOf(upstream), filesOf(local), 'local').files)
        for (const [name, { data }] of Object.entries(local))
          for (const [key, content] of Object.entries(data)) {
            if (base[name]?.data[key] === content) continue
            expect(dataOf(merged[`${name}.yaml`])[key]).toBe(content)
          }
      }),
      runs,
    )
  })
})

function dataOf(documents: unknown): Record<string, string> {
  const [object] = documents as [{ data?: Record<string, string>; metadata: { annotations?: Record<string, string> } }]
  return object.data ?? object.metadata.annotations ?? {}
}

/** Leaves out edits of the second list that touch what the first touches, or lie around or inside it. */
function disjoint(first: readonly Edit[], second: readonly Edit[]): { one: readonly Edit[]; two: readonly Edit[] } {
  const scope = ({ at, resource }: Edit): string => {
    const [what, name] = at.split('/')
    if (what === 'data' || what === 'port') return `${resource}/${at}`
    return what === 'resource' || what === 'move' ? resource : `${resource}/${name ?? what}`
  }
  const taken = first.map(scope)
  // Removing the last data or container of a resource removes the map around it.
  const overlaps = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
  return { one: first, two: second.filter((edit) => !taken.some((other) => overlaps(scope(edit), other))) }
}
