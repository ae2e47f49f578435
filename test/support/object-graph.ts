// Objects in memory with relations between them, for tests of graphs: no server and no capability.
import { ObjectLookup } from '@fairlead/controller'
import type {
  ObjectReader,
  ObjectState,
  Relation,
  RelationProblem,
  RelationType,
  StateName,
  Unreadable,
} from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'

const apiVersion = 'test.dev/v1'

/** Objects are named by their kinds and names: `Thing/a`. */
export interface ObjectGraph {
  readonly lookup: ObjectLookup
  readonly object: (name: string) => KubeObject
  /** Names of objects whose relations were looked up, in order. */
  readonly visited: readonly string[]
}

type Line = readonly [from: string, type: RelationType, to: string, holds?: 'holds' | 'waits']

const problem: RelationProblem = { reason: 'ValueMissing', message: 'it has no value' }

/**
 * Makes a graph of lines such as `Thing/a made-from Thing/b`; `holds` or `waits` after it says so of the relation.
 * Objects are Ready unless `states` says otherwise; a state of `Missing` or `Unknown` is that of an object that is not
 * read.
 */
export function objectGraph(
  lines: readonly string[],
  states: Readonly<Record<string, StateName>> = {},
  isClusterScoped: (kind: string) => boolean = (kind) => kind === 'Controller',
): ObjectGraph {
  const edgesOf = new Map<string, Line[]>()
  for (const line of lines) {
    const edge = line.split(' ') as unknown as Line
    for (const end of new Set([edge[0], edge[2]])) {
      const known = edgesOf.get(end)
      if (known === undefined) edgesOf.set(end, [edge])
      else known.push(edge)
    }
  }
  const reference = (name: string): Relation['from'] => {
    const [kind = '', of = ''] = name.split('/')
    return { apiVersion, kind, ...(isClusterScoped(kind) ? {} : { namespace: 'team' }), name: of }
  }
  const object = (name: string): KubeObject => {
    const { kind, namespace, name: of } = reference(name)
    return { apiVersion, kind, metadata: { name: of, ...(namespace === undefined ? {} : { namespace }) } }
  }
  const nameOf = ({ kind, metadata }: KubeObject): string => `${kind}/${metadata.name}`
  const visited: string[] = []
  const why: Unreadable = {
    reason: 'Forbidden',
    verb: 'get',
    resource: 'things.test.dev',
    message: 'ann may not get things.test.dev',
  }
  const read = {
    get: async ({ kind }, key) => {
      const name = `${kind}/${typeof key === 'string' ? key.split('/').at(-1) : key.name}`
      const state = states[name]
      if (state === 'Missing') return { found: 'no' }
      return state === 'Unknown' ? { found: 'unknown', why } : { found: 'yes', object: object(name) }
    },
    list: async () => ({ objects: [] }),
    listMetadata: async () => ({ objects: [] }),
    served: async () => [],
    preferred: async () => undefined,
  } as ObjectReader
  const source = {
    relations: async (one: KubeObject) => {
      visited.push(nameOf(one))
      return (edgesOf.get(nameOf(one)) ?? []).map(([from, type, to, holds]): Relation => ({
        type,
        from: reference(from),
        to: reference(to),
        ...(holds === undefined ? {} : { holds: holds === 'holds' ? true : problem }),
      }))
    },
    stateOf: (one: KubeObject): ObjectState => {
      const state = states[nameOf(one)] ?? 'Ready'
      const isSilent = state === 'Ready' || state === 'Exists'
      return { state, reason: isSilent ? '' : 'Because', message: isSilent ? '' : `${nameOf(one)} says so` }
    },
  }
  return { lookup: new ObjectLookup({ sources: [source], read }), object, visited }
}
