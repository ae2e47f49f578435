// The port of resolution on files: referents, grants and references of other objects come from manifests.
import { formatKey, isJsonObject, keyOf, parseApiVersion } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { KindCatalog } from '@fairlead/offline'
import type { Manifest } from '@fairlead/offline'
import type { ReferenceGrant, ReferenceRule } from '../api.ts'
import { apiGroup } from '../api.ts'
import { fieldManager, planField, rootOf, rowOf } from '../engine/field-plan.ts'
import type { FieldPlan, FieldRule } from '../engine/field-plan.ts'
import { isGranted } from '../engine/grants.ts'
import { idKey } from '../engine/object-id.ts'
import type { ObjectId } from '../engine/object-id.ts'
import { ReferenceIndex, edgesOf } from '../engine/reference-index.ts'
import type { Edge } from '../engine/reference-index.ts'
import type { ReferentKind } from '../engine/reference-table.ts'
import type { Lookup, ObjectCycle, Permission, Referents } from '../engine/referents.ts'
import { recordedReferences } from '../engine/resolved-reference.ts'
import type { ResolvedReference } from '../engine/resolved-reference.ts'
import { resolveReferences } from '../engine/resolve.ts'
import { longLabelValue, selectorFrom } from '@fairlead/kube'
import { referringKind } from './referring-kind.ts'
import type { DefinedKind } from './referring-kind.ts'

/** One target of a rule among the manifests. */
export interface FileTarget {
  readonly manifest: Manifest
  readonly id: ObjectId
  readonly references: readonly Edge[]
  readonly plan: FieldPlan
}

/** One object of a kind with references of its own. */
export interface FileDependent {
  readonly id: ObjectId
  readonly references: readonly ResolvedReference[]
}

/** The objects of manifests, with the references that rules and kinds among them declare. */
export class FileCluster implements Referents {
  readonly rules: readonly ReferenceRule[]
  readonly #manifests: readonly Manifest[]
  /** apiVersion/kind -> manifests of that kind. */
  readonly #manifestsByKind: ReadonlyMap<string, readonly Manifest[]>
  readonly #objects = new Map<string, KubeObject>()
  readonly #grants: readonly ReferenceGrant[]
  readonly #catalog: KindCatalog
  readonly #index = new ReferenceIndex()
  /** group/kind -> a kind with references of its own. */
  readonly #kinds: ReadonlyMap<string, DefinedKind>

  /**
   * Reads the references of all objects. `definitions` are CustomResourceDefinitions of kinds that the manifests need
   * not define. Throws UnknownKindError for a source whose kind nothing defines.
   */
  constructor(manifests: readonly Manifest[], definitions: readonly KubeObject[] = []) {
    this.#manifests = manifests
    this.#manifestsByKind = Map.groupBy(manifests, ({ object }) => `${object.apiVersion}/${object.kind}`)
    const objects = manifests.map(({ object }) => object)
    this.#catalog = new KindCatalog([...objects, ...definitions])
    this.#kinds = new Map(
      [...definitions, ...objects]
        .flatMap((object) => referringKind(object) ?? [])
        .map((kind) => [`${kind.group}/${kind.kind}`, kind]),
    )
    for (const object of objects)
      this.#objects.set(objectKey(object.apiVersion, object.kind, formatKey(keyOf(object))), object)
    const ofKind = (kind: string): readonly KubeObject[] =>
      objects.filter((object) => object.kind === kind && parseApiVersion(object.apiVersion).group === apiGroup)
    this.rules = ofKind('ReferenceRule') as unknown as readonly ReferenceRule[]
    this.#grants = ofKind('ReferenceGrant') as unknown as readonly ReferenceGrant[]
    const edges = new Map<string, { readonly id: ObjectId; readonly edges: Edge[] }>()
    const add = (id: ObjectId, more: readonly Edge[]): void => {
      const one = edges.get(idKey(id)) ?? { id, edges: [] }
      one.edges.push(...more)
      edges.set(idKey(id), one)
    }
    for (const rule of this.rules) for (const { id, references } of this.#targetsOf(rule)) add(id, references)
    for (const { id, object, rows } of this.#ofDefinedKinds()) add(id, edgesOf(id, specOf(object), rows))
    for (const one of edges.values()) this.#index.set(one.id, one.edges)
  }

  /** Returns the targets of a rule with the decisions on them. */
  targets(rule: ReferenceRule): readonly FileTarget[] {
    const fields = this.#fields(rule)
    return this.#targetsOf(rule).map((target) => ({
      ...target,
      plan: planField(target.id, target.manifest.object, fields, this),
    }))
  }

  /** Returns the objects whose kinds have references of their own, as their controller sees or has recorded them. */
  dependents(): readonly FileDependent[] {
    return this.#ofDefinedKinds().map(({ id, object, rows }) => {
      const resolution = resolveReferences({ id, spec: specOf(object), stored: [], exists: false }, rows, this)
      const recorded = recordedReferences(object)
      return { id, references: recorded ?? resolution.references }
    })
  }

  #ofDefinedKinds(): readonly {
    readonly id: ObjectId
    readonly object: KubeObject
    readonly rows: DefinedKind['rows']
  }[] {
    return this.#manifests.flatMap(({ object }) => {
      const { group } = parseApiVersion(object.apiVersion)
      const kind = this.#kinds.get(`${group}/${object.kind}`)
      return kind === undefined ? [] : [{ id: { group, kind: object.kind, ...keyOf(object) }, object, rows: kind.rows }]
    })
  }

  read({ group, version, kind }: ReferentKind, namespace: string, name: string): Lookup {
    const apiVersion = group === '' ? version : `${group}/${version}`
    const object = this.#objects.get(objectKey(apiVersion, kind, formatKey({ namespace, name })))
    return object === undefined ? { state: 'absent' } : { state: 'found', object }
  }

  permission(from: ObjectId, to: ObjectId): Permission {
    return isGranted(this.#grants, from, to) ? 'granted' : 'denied'
  }

  cycle(from: ObjectId, to: ObjectId): ObjectCycle | undefined {
    return this.#index.cycle(from, to)
  }

  #fields(rule: ReferenceRule): FieldRule {
    const { target, source } = rule.spec
    const { group, version, kind, namespaced } = this.#catalog.byKind(source)
    const row = rowOf(rule, { group, version, kind, namespaced: namespaced === true, valuePath: source.valuePath })
    const manager = fieldManager(rule.metadata.name ?? '', longLabelValue)
    return { row, annotation: target.reference.annotation, manager }
  }

  #targetsOf(rule: ReferenceRule): readonly Omit<FileTarget, 'plan'>[] {
    const { target } = rule.spec
    const fields = this.#fields(rule)
    const selector = selectorFrom(target.labelSelector ?? {})
    return (this.#manifestsByKind.get(`${target.apiVersion}/${target.kind}`) ?? [])
      .filter(({ object }) => selector.matches(object.metadata.labels ?? {}))
      .map((manifest) => {
        const { group } = parseApiVersion(target.apiVersion)
        const id = { group, kind: target.kind, ...keyOf(manifest.object) }
        return { manifest, id, references: edgesOf(id, rootOf(manifest.object, fields), [fields.row]) }
      })
  }
}

function specOf(object: KubeObject): JsonObject {
  const spec = object['spec'] as JsonValue | undefined
  return isJsonObject(spec) ? spec : {}
}

function objectKey(apiVersion: string, kind: string, key: string): string {
  return `${apiVersion}/${kind}/${key}`
}
