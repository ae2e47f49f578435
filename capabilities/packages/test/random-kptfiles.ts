// Random Kptfiles and edits of their lists.
import { stringifyYaml } from '@fairlead/kube'
import fc from 'fast-check'

interface KptFunction {
  readonly image: string
  readonly name?: string
  readonly configMap?: Readonly<Record<string, string>>
}

/** The lists of a Kptfile. */
export interface Lists {
  readonly mutators: readonly KptFunction[]
  readonly gates: readonly string[]
}

const image = fc.constantFrom('set-labels', 'set-namespace', 'search-replace', 'apply-setters')
const kptFunction = fc.record(
  {
    image,
    name: fc.boolean(),
    configMap: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('one', 'two'), { minKeys: 1, maxKeys: 2 }),
  },
  { requiredKeys: ['image', 'name'] },
)

/** Kptfiles with functions and readiness gates; the functions of most have either all a name or none. */
export const lists: fc.Arbitrary<Lists> = fc
  .record({
    mutators: fc.uniqueArray(kptFunction, { maxLength: 3, selector: (one) => one.image }),
    gates: fc.uniqueArray(fc.constantFrom('ready', 'tested'), { maxLength: 2 }),
    naming: fc.constantFrom('all', 'all', 'all', 'all', 'none', 'none', 'none', 'none', 'mixed'),
  })
  .map(({ gates, mutators, naming }) => {
    const isNamed = (name: boolean): boolean => naming === 'all' || (naming === 'mixed' && name)
    const functions = mutators.map(({ name, ...one }) => ({
      ...one,
      image: `${one.image}:v1`,
      ...(isNamed(name) && { name: one.image }),
    }))
    return { gates, mutators: functions }
  })

/** An edit of a list: removes, retags, configures or adds a function, or turns a gate on or off. */
export type ListEdit = readonly [what: 'remove' | 'retag' | 'configure' | 'add' | 'gate', which: string]

export const listEdits: fc.Arbitrary<readonly ListEdit[]> = fc.array(
  fc.oneof(
    fc.tuple(fc.constantFrom('remove' as const, 'retag' as const, 'configure' as const, 'add' as const), image),
    fc.tuple(fc.constant('gate' as const), fc.constantFrom('ready', 'tested', 'signed')),
  ),
  { maxLength: 2 },
)

/** Returns the lists after the edits. */
export function editedLists(base: Lists, edits: readonly ListEdit[], side: string): Lists {
  return edits.reduce(({ mutators, gates }: Lists, [what, which]): Lists => {
    const isIt = (one: KptFunction): boolean => one.image.startsWith(`${which}:`)
    const change = (edit: (one: KptFunction) => KptFunction): Lists => ({
      gates,
      mutators: mutators.map((one) => (isIt(one) ? edit(one) : one)),
    })
    switch (what) {
      case 'gate':
        return { mutators, gates: gates.includes(which) ? gates.filter((gate) => gate !== which) : [...gates, which] }
      case 'remove':
        return { gates, mutators: mutators.filter((one) => !isIt(one)) }
      case 'add':
        return mutators.some(isIt) ? { mutators, gates } : { gates, mutators: [...mutators, added(which, mutators)] }
      case 'retag':
        return change((one) => ({ ...one, image: `${which}:${side}` }))
      default:
        return change((one) => ({ ...one, configMap: { ...one.configMap, [side]: 'set' } }))
    }
  }, base)
}

function added(image: string, others: readonly KptFunction[]): KptFunction {
  return { image: `${image}:v1`, ...(others.some(({ name }) => name !== undefined) && { name: image }) }
}

/** Returns the text of the Kptfile. */
export function kptfileText(name: string, { gates, mutators }: Lists): string {
  return stringifyYaml({
    apiVersion: 'kpt.dev/v1',
    kind: 'Kptfile',
    metadata: { name },
    ...(gates.length === 0 ? {} : { info: { readinessGates: gates.map((conditionType) => ({ conditionType })) } }),
    ...(mutators.length === 0 ? {} : { pipeline: { mutators } }),
  })
}
