// The rows of Metacontroller's own unit tables, as facts (cases/metacontroller.json).
import { readFileSync } from 'node:fs'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { FieldError, JsonObject, KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import type { HookVersion, RelatedResource } from '../../src/api.ts'
import { ChildWriter } from '../../src/children/child-writer.ts'
import { planChildren } from '../../src/children/child-plan.ts'
import type { ChildKind, ChildMethod } from '../../src/children/child.ts'
import { lastAppliedAnnotation, mergeApplied, updatedChild, withLastApplied } from '../../src/children/merge.ts'
import { isRelated } from '../../src/engine/related.ts'
import { requestKeys } from '../../src/engine/request.ts'
import { kindKey } from '../../src/engine/resource.ts'
import { isHostOf } from '../../src/hook/credentials.ts'
import { isVisible, relatedRule, scopeOf } from '../../src/sync/related-rules.ts'

interface Place {
  readonly namespace?: string
  readonly name?: string
  readonly labels?: Readonly<Record<string, string>>
}
interface Cases {
  readonly merges: readonly (Record<'observed' | 'lastApplied' | 'desired' | 'want', JsonObject> & { id: string })[]
  readonly systemFields: readonly (Record<'observed' | 'desired' | 'want', JsonObject> & { id: string })[]
  readonly writes: readonly {
    readonly id: string
    readonly method: ChildMethod
    readonly write: 'create' | 'update' | 'delete'
    readonly meanwhile: 'nothing' | 'deleted' | 'changed' | 'refused' | 'exists'
    readonly fails: boolean
  }[]
  readonly rules: readonly {
    readonly id: string
    readonly version: HookVersion
    readonly parent: Place
    readonly rule: RelatedResource
    readonly clusterScoped?: boolean
    readonly namespaces?: Readonly<Record<string, Record<string, string>>>
    readonly object: Place
    readonly want: 'match' | 'none' | 'error'
  }[]
  readonly kindKeys: readonly { readonly apiVersion: string; readonly kind: string; readonly want: string }[]
  readonly objectKeys: readonly {
    readonly id: string
    readonly version: HookVersion
    readonly parent: Place
    readonly object: Place
    readonly want: string
  }[]
  readonly endpoints: readonly {
    readonly id: string
    readonly hosts: readonly string[]
    readonly url: string
    readonly want: number | null
  }[]
}

const file = new URL('cases/metacontroller.json', import.meta.url)
const cases = JSON.parse(readFileSync(file, 'utf8')) as Cases

function placed(metadata: Place): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata } as KubeObject
}

describe("Metacontroller's merge of children", () => {
  test.each(cases.merges)('$id', ({ observed, lastApplied, desired, want }) => {
    expect(mergeApplied(observed, lastApplied, desired)).toEqual(want)
  })

  test.each(cases.systemFields)('$id', ({ observed, desired, want }) => {
    const type = { apiVersion: 'v1', kind: 'ConfigMap' }
    const { metadata, ...rest } = updatedChild(
      { ...type, ...observed } as unknown as KubeObject,
      { ...type, ...desired } as unknown as KubeObject,
    )
    const { annotations, ...left } = metadata
    expect({ ...rest, metadata: left }).toEqual({ ...type, ...want })
    expect(Object.keys(annotations ?? {})).toEqual([lastAppliedAnnotation])
  })
})

describe("Metacontroller's writes of children", () => {
  test.each(cases.writes)('$id', async ({ method, write, meanwhile, fails }) => {
    let isRefused = false
    const refused: FieldError[] = [
      { type: 'Forbidden', field: 'metadata.name', detail: 'refused by a test' } as unknown as FieldError,
    ]
    const validator = {
      group: '',
      resources: ['configmaps'],
      validate: () => (isRefused ? refused : []),
    }
    await using server = await ApiServer.start({ storage: memory(), authorization: 'RBAC', validators: [validator] })
    const client = server.client()
    const parent = await client.create({ ...placed({ name: 'p', namespace: 'default' }) })
    const kind: ChildKind = {
      apiVersion: 'v1',
      group: '',
      kind: 'ConfigMap',
      plural: 'configmaps',
      namespaced: true,
      method,
    }
    const wanted = (value: string): KubeObject =>
      ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'child', namespace: 'default' },
        data: { value },
      }) as KubeObject
    const created = write === 'create' ? undefined : await client.create(withLastApplied(wanted('before')))
    const observed = created === undefined ? [] : [{ kind, object: created }]
    const plan = planChildren(parent, observed, write === 'delete' ? [] : [{ kind, object: wanted('now') }])
    if (meanwhile === 'deleted') await client.delete(created!, 'default/child')
    if (meanwhile === 'changed') await client.patch(created!, 'default/child', { merge: { data: { other: 'x' } } })
    if (meanwhile === 'exists') await client.create(wanted('foreign'))
    isRefused = meanwhile === 'refused'
    const target =
      isRefused && write !== 'create' && method !== 'InPlace' ? server.client().as({ user: 'nobody' }) : client
    const carriedOut = new ChildWriter(target, parent, () => {}).carryOut(plan)
    if (fails) await expect(carriedOut).rejects.toThrow()
    else await carriedOut
  })
})

describe("Metacontroller's rules of related objects", () => {
  test.each(cases.rules)('$id', ({ version, parent: place, rule, clusterScoped = false, namespaces, object, want }) => {
    const parent = placed(place)
    const resource = {
      apiVersion: rule.apiVersion,
      group: '',
      kind: 'Any',
      plural: rule.resource,
      namespaced: !clusterScoped,
    }
    const outcome = (): string => {
      const found = placed(object)
      const resolved = relatedRule(rule, resource, parent, version)
      const matches = isRelated(resolved, scopeOf(parent, version), found, (name) => namespaces?.[name])
      return matches && isVisible(found, parent, version) ? 'match' : 'none'
    }
    if (want === 'error') expect(outcome).toThrow()
    else expect(outcome()).toBe(want)
  })
})

describe("Metacontroller's keys in requests", () => {
  test.each(cases.kindKeys)('$want', ({ want, ...resource }) => {
    expect(kindKey(resource)).toBe(want)
  })

  test.each(cases.objectKeys)('$id', ({ version, parent, object, want }) => {
    expect(requestKeys(placed(parent), version)(placed(object))).toBe(want)
  })
})

describe("Metacontroller's match of endpointConfigs", () => {
  test.each(cases.endpoints)('$id', ({ hosts, url, want }) => {
    const at = hosts.findIndex((host) => isHostOf(host, new URL(url)))
    expect(at < 0 ? null : at).toBe(want)
  })
})
