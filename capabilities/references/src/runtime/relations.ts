// The edges of references in the graph of derived objects. Start with relations.
import { CustomResourceDefinition } from '@fairlead/client'
import type { ServedKind } from '@fairlead/client'
import { objectReference, referenceKey } from '@fairlead/controller'
import type { ObjectReader, Relation, RelationSource } from '@fairlead/controller'
import { SelectorError, longLabelValue, parseApiVersion, selectorFrom, staleness } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline'
import { apiGroup } from '../api.ts'
import { fieldManager, rootOf, rowOf } from '../engine/field-plan.ts'
import type { FieldRule } from '../engine/field-plan.ts'
import { idKey } from '../engine/object-id.ts'
import type { ObjectId } from '../engine/object-id.ts'
import { valueAt } from '../engine/occurrences.ts'
import { edgesOf } from '../engine/reference-index.ts'
import type { ReferringKind } from '../engine/reference-table.ts'
import { declaredReferences } from '../offline/referring-kind.ts'
import { append, idOf, kindRelations, referenceTo } from './kind-relations.ts'
import type { ReferenceRuleObject } from './kinds.ts'
import { referenceRuleKind } from './kinds.ts'

/**
 * The edges that begin or end at an object:
 * - an object of a kind with references refers to what its fields name;
 * - a target of a ReferenceRule refers to the source that it names, and is input of the rule; the status of the rule
 *   says whether the reference is resolved.
 */
export const relations: RelationSource = {
  async relations(object, read) {
    const [ofKinds, ofRules] = await Promise.all([
      definedKinds(read).then((kinds) => kindRelations(object, kinds, read)),
      ruleRelations(object, read),
    ])
    return [...ofKinds, ...ofRules]
  },
}

/** The kinds whose definitions declare references, of each reader once. */
const known = new WeakMap<ObjectReader, Promise<readonly Omit<ReferringKind, 'plural'>[]>>()

function definedKinds(read: ObjectReader): Promise<readonly Omit<ReferringKind, 'plural'>[]> {
  let kinds = known.get(read)
  if (kinds === undefined) {
    kinds = readKinds(read)
    known.set(read, kinds)
  }
  return kinds
}

/** Reads the metadata of all definitions: their schemas are large, and the names of kinds are in discovery. */
async function readKinds(read: ObjectReader): Promise<readonly Omit<ReferringKind, 'plural'>[]> {
  const { objects } = await read.listMetadata(CustomResourceDefinition)
  const served = await read.served()
  return objects.flatMap((definition) => {
    const found = served.find(
      ({ isPreferred, group, plural }) => isPreferred && `${plural}.${group}` === definition.metadata.name,
    )
    const rows = rowsOf(definition)
    return found === undefined || rows === undefined
      ? []
      : [{ group: found.group, version: found.version, kind: found.kind, rows }]
  })
}

/** Returns the references of a definition; undefined without any, or when they are malformed. */
function rowsOf(definition: KubeObject): ReferringKind['rows'] | undefined {
  try {
    return declaredReferences(definition)
  } catch (error) {
    if (error instanceof CommandError) return undefined
    throw error
  }
}

async function ruleRelations(object: KubeObject, read: ObjectReader): Promise<readonly Relation[]> {
  const { objects: rules } = await read.list<ReferenceRuleObject>(referenceRuleKind)
  if (rules.length === 0) return []
  const served = await read.served()
  const id = idOf(object)
  const found = rules.map(async (rule): Promise<readonly Relation[]> => {
    const { source, target } = rule.spec
    const isRule = id.group === apiGroup && id.kind === 'ReferenceRule' && id.name === rule.metadata.name
    const isTarget = isOfKind(id, target)
    const isSource = isOfKind(id, source)
    if (!isRule && !isTarget && !isSource) return []
    if (isTarget && !isSource) return isSelected(object, rule) ? targetEdges(object, rule, served) : []
    const { objects } = await read.list(target)
    return edgesByEnd(rule, objects, served).get(idKey(id)) ?? []
  })
  return (await Promise.all(found)).flat()
}

type EdgesByEnd = ReadonlyMap<string, readonly Relation[]>

/** The edges of the targets of a rule by their ends, of each rule and list once. */
const edgesOfRules = new WeakMap<ReferenceRuleObject, WeakMap<readonly KubeObject[], EdgesByEnd>>()

function edgesByEnd(
  rule: ReferenceRuleObject,
  targets: readonly KubeObject[],
  served: readonly ServedKind[],
): EdgesByEnd {
  const ofRule = edgesOfRules.get(rule) ?? new WeakMap<readonly KubeObject[], EdgesByEnd>()
  edgesOfRules.set(rule, ofRule)
  let found = ofRule.get(targets)
  if (found === undefined) {
    const byEnd = new Map<string, Relation[]>()
    for (const target of targets)
      for (const edge of isSelected(target, rule) ? targetEdges(target, rule, served) : [])
        for (const end of new Set([edge.from, edge.to].map(referenceKey))) append(byEnd, end, edge)
    found = byEnd
    ofRule.set(targets, found)
  }
  return found
}

/** Returns the edges from a target with a reference to its source and to the rule. */
function targetEdges(
  target: KubeObject,
  rule: ReferenceRuleObject,
  served: readonly ServedKind[],
): readonly Relation[] {
  const from = objectReference(target)
  const { source } = rule.spec
  const { group, version } = parseApiVersion(source.apiVersion)
  const { namespaced } = served.find((one) => one.apiVersion === source.apiVersion && one.kind === source.kind) ?? {}
  const row = rowOf(rule, { group, version, kind: source.kind, namespaced, valuePath: source.valuePath })
  const manager = fieldManager(rule.metadata.name ?? '', longLabelValue)
  const fields: FieldRule = { row, annotation: rule.spec.target.reference.annotation, manager }
  const root = rootOf(target, fields)
  if ((valueAt(root, row.refPath) ?? null) === null) return []
  const holds = resolutionOf(target, rule)
  const named = edgesOf(idOf(target), root, [row])
  // A problem is that of the reference; where it is ignored, that of the target with the rule.
  const ofRule = named.length > 0 && holds !== undefined ? true : holds
  return [
    ...named.map(({ to }): Relation => ({
      type: 'refers-to',
      from,
      to: referenceTo(to, [row]),
      ...(holds && { holds }),
    })),
    { type: 'input-of', from, to: objectReference(rule), ...(ofRule && { holds: ofRule }) },
  ]
}

/** Returns what the rule reports on a target; undefined while it has not reported, or not on all targets. */
function resolutionOf({ metadata }: KubeObject, rule: ReferenceRuleObject): Relation['holds'] {
  const { waiting = 0, failing = 0, problems = [], conditions } = rule.status ?? {}
  const isAccepted = conditions?.some(({ type, status }) => type === 'Accepted' && status === 'True') === true
  if (staleness(rule) !== undefined || !isAccepted) return undefined
  const found = problems.find(({ namespace, name }) => namespace === metadata.namespace && name === metadata.name)
  if (found !== undefined) return { reason: found.reason, message: found.message }
  return problems.length === waiting + failing ? true : undefined
}

function isSelected({ metadata }: KubeObject, { spec }: ReferenceRuleObject): boolean {
  try {
    return selectorFrom(spec.target.labelSelector ?? {}).matches(metadata.labels ?? {})
  } catch (error) {
    // The rule says so in its condition Accepted.
    if (error instanceof SelectorError) return false
    throw error
  }
}

function isOfKind({ group, kind }: ObjectId, named: { readonly apiVersion: string; readonly kind: string }): boolean {
  return kind === named.kind && group === parseApiVersion(named.apiVersion).group
}
