// The port of resolution on files: referents, grants and references of other objects come from manifests.
import { formatKey, keyOf, parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { KindCatalog } from '@fairlead/offline'
import type { Manifest } from '@fairlead/offline'
import type { ReferenceGrant, ReferenceRule } from '../api.ts'
import { apiGroup } from '../api.ts'
import { fieldManager, planField, rootOf, rowOf } from '../engine/field-plan.ts'
import type { FieldPlan, FieldRule } from '../engine/field-plan.ts'
import { isGranted } from '../engine/grants.ts'
import type { ObjectId } from '../engine/object-id.ts'
import { ReferenceIndex, edgesOf } from '../engine/reference-index.ts'
import type { Edge } from '../engine/reference-index.ts'
import type { ReferentKind } from '../engine/reference-table.ts'
import type { Lookup, ObjectCycle, Permission, Referents } from '../engine/referents.ts'
import { longLabelValue, selectorFrom } from '@fairlead/kube'

/** One target of a rule among the manifests. */
export interface FileTarget {
  readonly manifest: Manifest
  readonly id: ObjectId
  readonly references: readonly Edge[]
  readonly plan: FieldPlan
}

/** The objects of manifests, with the references that the rules among them declare. */
export class FileCluster implements Referents {
  readonly rules: readonly ReferenceRule[]
  readonly #manifests: readonly Manifest[]
  readonly #objects = new Map<string, KubeObject>()
  readonly #grants: readonly ReferenceGrant[]
  readonly #catalog: KindCatalog
  readonly #index = new ReferenceIndex()

  /** Reads the references of all targets. Throws UnknownKindError for a source whose kind nothing defines. */
  constructor(manifests: readonly Manifest[]) {
    this.#manifests = manifests
    const objects = manifests.map(({ object }) => object)
    this.#catalog = new KindCatalog(objects)
    for (const object of objects)
      this.#objects.set(objectKey(object.apiVersion, object.kind, formatKey(keyOf(object))), object)
    const ofKind = (kind: string): readonly KubeObject[] =>
      objects.filter((object) => object.kind === kind && parseApiVersion(object.apiVersion).group === apiGroup)
    this.rules = ofKind('ReferenceRule') as unknown as readonly ReferenceRule[]
    this.#grants = ofKind('ReferenceGrant') as unknown as readonly ReferenceGrant[]
    for (const rule of this.rules)
      for (const { id, references } of this.#targetsOf(rule))
        this.#index.set(id, [...this.#index.referencesOf(id), ...references])
  }

  /** Returns the targets of a rule with the decisions on them. */
  targets(rule: ReferenceRule): readonly FileTarget[] {
    const fields = this.#fields(rule)
    return this.#targetsOf(rule).map((target) => ({
      ...target,
      plan: planField(target.id, target.manifest.object, fields, this),
    }))
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
    return this.#manifests
      .filter(({ object }) => object.apiVersion === target.apiVersion && object.kind === target.kind)
      .filter(({ object }) => selector.matches(object.metadata.labels ?? {}))
      .map((manifest) => {
        const { group } = parseApiVersion(target.apiVersion)
        const id = { group, kind: target.kind, ...keyOf(manifest.object) }
        return { manifest, id, references: edgesOf(id, rootOf(manifest.object, fields), [fields.row]) }
      })
  }
}

function objectKey(apiVersion: string, kind: string, key: string): string {
  return `${apiVersion}/${kind}/${key}`
}
