import type { KubeObject } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { formatIdentity, identityOf } from '../src/engine/identity.ts'
import { inputFilter } from '../src/engine/input.ts'
import { mapKeyOf } from '../src/engine/map-key.ts'
import { OutputIndex } from '../src/engine/output-index.ts'
import { Selection } from '../src/engine/selection.ts'
import { OutputCounts } from '../src/engine/status.ts'
import { claim, claims, namespaces, outputOf, parent, snapshot } from './objects.ts'

/** An event of one object of a small cluster. */
interface ObjectEvent {
  readonly type: 'parent' | 'claim' | 'namespace'
  readonly name: string
  readonly namespace: string
  readonly app: string | undefined
  readonly isDeleted: boolean
}

const objectEvent: fc.Arbitrary<ObjectEvent> = fc.record({
  type: fc.constantFrom('parent', 'claim', 'namespace'),
  name: fc.constantFrom('x', 'y', 'z'),
  namespace: fc.constantFrom('app', 'other', ''),
  app: fc.constantFrom('a', 'b', undefined),
  isDeleted: fc.boolean(),
})

const kinds = [claims, namespaces]

function objectOf({ type, name, namespace, app }: ObjectEvent): { kind: number; object: KubeObject } {
  const labels: Record<string, string> = app === undefined ? {} : { app }
  if (type === 'namespace')
    return { kind: 1, object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } } }
  return { kind: 0, object: claim(name, { namespace: namespace || 'app', labels }) }
}

function parentOf({ name, namespace, app }: ObjectEvent): KubeObject {
  const spec = app === undefined ? {} : { selector: { matchLabels: { app } } }
  return parent({ namespace: namespace || undefined, uid: `${namespace}/${name}`, spec, metadata: { name } })
}

const inScope = (kind: number, namespace: string, objects: Iterable<KubeObject>): KubeObject[] =>
  [...objects].filter(
    (object) =>
      object.kind === kinds[kind]?.kind && (kind === 1 || namespace === '' || object.metadata.namespace === namespace),
  )

describe('Selection', () => {
  property.prop([fc.array(objectEvent, { maxLength: 40 })])(
    'updated by single changes equals a selection made from scratch',
    (events) => {
      const inputs = new Map<string, KubeObject>()
      const parents = new Map<string, KubeObject>()
      const selection = new Selection(kinds.map(inputFilter), () => undefined)
      for (const one of events) {
        if (one.type === 'parent') {
          const object = parentOf(one)
          const uid = object.metadata.uid!
          if (one.isDeleted) {
            parents.delete(uid)
            selection.removeParent(uid)
          } else {
            parents.set(uid, object)
            selection.setParent(object, (kind, namespace) => inScope(kind, namespace, inputs.values()))
          }
          continue
        }
        const { kind, object } = objectOf(one)
        const identity = identityOf(object)
        if (one.isDeleted) inputs.delete(formatIdentity(identity))
        else inputs.set(formatIdentity(identity), object)
        selection.setInput(kind, identity, one.isDeleted ? undefined : object)
      }
      const scratch = new Selection(kinds.map(inputFilter), () => undefined)
      for (const object of parents.values())
        scratch.setParent(object, (kind, namespace) => inScope(kind, namespace, inputs.values()))
      const selected = (of: Selection): unknown =>
        Object.fromEntries([...of.parents].map(([uid, { inputs: keys }]) => [uid, [...keys.keys()].toSorted()]))
      expect(selected(selection)).toEqual(selected(scratch))
    },
  )
})

describe('OutputIndex', () => {
  const change = fc.record({
    name: fc.constantFrom('s1', 's2', 's3'),
    input: fc.constantFrom('a', 'b'),
    uid: fc.constantFrom('p', 'q', 'orphan'),
    ready: fc.boolean(),
    isDeleted: fc.boolean(),
  })

  property.prop([fc.array(change, { maxLength: 40 })])(
    'updated by single changes contains exactly the existing outputs',
    (changes) => {
      const index = new OutputIndex('schedules', 1)
      const existing = new Map<string, { object: KubeObject; uid: string; input: string }>()
      for (const { name, input, uid, ready, isDeleted } of changes) {
        const made = outputOf(claim(input), parent({ uid }), snapshot(name))
        const metadata = uid === 'orphan' ? { ...made.metadata, ownerReferences: [] } : made.metadata
        const object = {
          ...made,
          metadata,
          status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
        }
        if (isDeleted) existing.delete(name)
        else existing.set(name, { object, uid, input })
        index.set(0, name, isDeleted ? undefined : object)
      }
      const identity = formatIdentity(identityOf(parent()))
      for (const uid of ['p', 'q']) {
        const own = [...existing.values()].filter((one) => one.uid === uid)
        const counts = new OutputCounts(1)
        for (const { object } of own) counts.count(0, object, 1)
        expect(index.countsOf({ uid, identity }).toJson()).toEqual(counts.toJson())
        for (const input of ['a', 'b']) {
          const names = own.filter((one) => one.input === input).map(({ object }) => object.metadata.name)
          expect(
            index
              .outputsOf({ uid, identity }, mapKeyOf(identityOf(claim(input))))
              .map(({ metadata }) => metadata.name)
              .toSorted(),
          ).toEqual(names.toSorted())
        }
      }
      const orphans = [...existing.values()].filter(({ uid }) => uid === 'orphan')
      const groups = index.groupsOf({ uid: 'other', identity })
      expect([...groups.keys()].toSorted()).toEqual(
        [...new Set(orphans.map(({ input }) => mapKeyOf(identityOf(claim(input)))))].toSorted(),
      )
    },
  )
})
