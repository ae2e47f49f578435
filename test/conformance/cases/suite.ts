// Which program runs which case file. A capability adds its file here and one module beside this one.
import type { Case, CaseFile } from './case-file.ts'
import type { Disagreement } from './comparison.ts'

/** The keys that an area knows; any other fails the case. */
export interface Area {
  readonly input: readonly string[]
  readonly want: readonly string[]
  /** Keys of objects within, by path: `want.after[]` is each item of a list, `want.counts.*` each value of a map. */
  readonly parts?: Readonly<Record<string, readonly string[]>>
}

/** Runs the cases of one file. */
export interface Suite {
  readonly areas: Readonly<Record<string, Area>>
  /** Returns the disagreements; none when the case passes. Throws only for a case that cannot be read. */
  run(entry: Case, file: CaseFile): Promise<readonly Disagreement[]>
}

const suites: Readonly<Record<string, () => Promise<{ readonly suite: Suite }>>> = {
  'ack.json': () => import('./ack/suite.ts'),
  'cartographer.json': () => import('./cartographer/suite.ts'),
  'kappnav.json': () => import('./kappnav/suite.ts'),
  'mapcontroller.json': () => import('./mapcontroller/suite.ts'),
  'porch.json': () => import('./porch/suite.ts'),
}

/** The suite of a file, by its name; undefined where none is built yet. */
export async function suiteFor(name: string): Promise<Suite | undefined> {
  return Object.hasOwn(suites, name) ? (await suites[name]!()).suite : undefined
}

/** Keys of a case that its area does not know. */
export function unknownKeys(entry: Case, area: Area): Disagreement[] {
  const unknown = (part: 'input' | 'want'): Disagreement[] =>
    Object.keys(entry[part])
      .filter((key) => !area[part].includes(key))
      .map((key) => ({ at: `${part}.${key}`, wanted: `one of ${area[part].join(', ')}`, came: 'an unknown key' }))
  return [...unknown('input'), ...unknown('want'), ...unknownInParts(entry, area.parts ?? {})]
}

function unknownInParts(entry: Case, parts: NonNullable<Area['parts']>): Disagreement[] {
  return Object.entries(parts).flatMap(([path, keys]) =>
    objectsAt(entry, path.split('.')).flatMap((object) =>
      Object.keys(object)
        .filter((key) => !keys.includes(key))
        .map((key) => ({ at: `${path}.${key}`, wanted: `one of ${keys.join(', ')}`, came: 'an unknown key' })),
    ),
  )
}

/** Returns the objects at a path; none where something else is there. */
function objectsAt(value: unknown, [step, ...steps]: readonly string[]): readonly object[] {
  if (typeof value !== 'object' || value === null) return []
  if (step === undefined) return Array.isArray(value) ? [] : [value]
  const next = step.startsWith('*')
    ? Object.values(value)
    : [(value as Readonly<Record<string, unknown>>)[step.replace('[]', '')]]
  return next
    .flatMap((one) => (step.endsWith('[]') ? (Array.isArray(one) ? (one as unknown[]) : []) : [one]))
    .flatMap((one) => objectsAt(one, steps))
}
