// The edges of supply chains in the graph of derived objects. Start with relations.
import { objectReference } from '@fairlead/controller'
import type { ObjectReader, ObjectReference, Relation, RelationSource, RelationType } from '@fairlead/controller'
import { controllerOf, findCondition, parseApiVersion } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { apiGroup, apiVersion } from '../api.ts'
import type { Blueprint, Owner, Runnable, StatusReference } from '../api.ts'
import { stampLabel } from '../engine/templates/stamp.ts'
import { templateNames } from '../engine/templates/template-choice.ts'
import { deliveries, supplyChains } from './chain-kinds.ts'
import type { ChainKinds } from './chain-kinds.ts'
import { runnableKind } from './kinds.ts'

/**
 * The edges that begin or end at an object, as far as labels, owner references and status show them:
 * - a stamped object is made from its owner and from its template, a run from its Runnable and from its
 *   ClusterRunTemplate;
 * - an owner is input of its blueprint;
 * - a blueprint refers to its templates, a Runnable to its ClusterRunTemplate.
 */
export const relations: RelationSource = { relations: relationsOf }

async function relationsOf(object: KubeObject, read: ObjectReader): Promise<readonly Relation[]> {
  const ofStamped = stampedRelations(object)
  if (parseApiVersion(object.apiVersion).group !== apiGroup) return ofStamped
  const chain = [supplyChains, deliveries].find(({ ownerKind }) => ownerKind === object.kind)
  if (chain !== undefined) return [...ofStamped, ...ownerRelations(object as Owner, chain)]
  const used = [supplyChains, deliveries].find(({ blueprintKind }) => blueprintKind === object.kind)
  if (used !== undefined) return blueprintRelations(object as Blueprint, used, read)
  if (object.kind === 'Runnable') return [...ofStamped, runnableRelation(object as Runnable)]
  return object.kind.endsWith('Template') ? templateRelations(object, read) : ofStamped
}

/** Edges of an object that an owner or a Runnable stamped, by its labels. */
function stampedRelations(object: KubeObject): Relation[] {
  const owner = controllerOf(object)
  if (owner === undefined || parseApiVersion(owner.apiVersion).group !== apiGroup) return []
  const from = objectReference(object)
  const { namespace } = object.metadata
  const { apiVersion: version, kind, name, uid } = owner
  const templateName = labelOf(object, stampLabel.templateName)
  const templateKind = labelOf(object, stampLabel.templateKind)
  const runTemplate = labelOf(object, stampLabel.runTemplate)
  return [
    edge('made-from', from, { apiVersion: version, kind, ...(namespace ? { namespace } : {}), name, uid }),
    ...(templateName === undefined || templateKind === undefined
      ? []
      : [edge('made-from', from, { apiVersion, kind: templateKind, name: templateName })]),
    ...(runTemplate === undefined
      ? []
      : [edge('made-from', from, { apiVersion, kind: 'ClusterRunTemplate', name: runTemplate })]),
  ]
}

function ownerRelations(owner: Owner, chain: ChainKinds): Relation[] {
  const blueprint = owner.status?.[chain.reference]?.name
  return [
    ...(blueprint === undefined ? [] : [inputOf(owner, chain, blueprint)]),
    ...(owner.status?.resources ?? []).flatMap(({ stampedRef, conditions }) => {
      const from = fromStatus(stampedRef)
      if (from === undefined) return []
      const holds = healthOf(conditions)
      return [{ ...edge('made-from', from, objectReference(owner)), ...(holds && { holds }) }]
    }),
  ]
}

/** Returns what an owner reports on one of its resources: what it waits for, or that it is healthy. */
function healthOf(conditions: readonly Condition[] | undefined): Relation['holds'] {
  const submitted = findCondition(conditions, 'ResourceSubmitted')
  const healthy = findCondition(conditions, 'Healthy')
  // Outputs that are missing follow from bad health; health that is not known follows from missing outputs.
  const found = healthy?.status === 'False' ? [healthy, submitted] : [submitted, healthy]
  const problem = found.find((one) => one !== undefined && one.status !== 'True')
  if (problem !== undefined) return { reason: problem.reason, message: problem.message }
  return found.every((one) => one !== undefined) ? true : undefined
}

async function blueprintRelations(blueprint: Blueprint, chain: ChainKinds, read: ObjectReader): Promise<Relation[]> {
  const { name = '' } = blueprint.metadata
  const all = await read.list<Owner>(chain.owner)
  const owners = all.objects.filter(({ status }) => status?.[chain.reference]?.name === name)
  const templates = blueprint.spec.resources.flatMap((resource) =>
    templateNames(resource).map((template) => ({ apiVersion, kind: resource.templateRef.kind, name: template })),
  )
  return [
    ...owners.map((owner) => inputOf(owner, chain, name)),
    ...templates.map((template) => edge('refers-to', objectReference(blueprint), template)),
  ]
}

function runnableRelation(runnable: Runnable): Relation {
  const { name } = runnable.spec.runTemplateRef
  return edge('refers-to', objectReference(runnable), { apiVersion, kind: 'ClusterRunTemplate', name })
}

/** Edges that end at a template: from the objects in the status of owners, from blueprints, from Runnables. */
async function templateRelations(template: KubeObject, read: ObjectReader): Promise<Relation[]> {
  const to = objectReference(template)
  const { kind } = template
  const { name = '' } = template.metadata
  if (kind === 'ClusterRunTemplate')
    return (await read.list<Runnable>(runnableKind)).objects
      .filter(({ spec }) => spec.runTemplateRef.name === name)
      .map((runnable) => edge('refers-to', objectReference(runnable), to))
  const chains = [supplyChains, deliveries].map(async (chain) => ({
    blueprints: (await read.list<Blueprint>(chain.blueprint)).objects,
    owners: (await read.list<Owner>(chain.owner)).objects,
  }))
  return (await Promise.all(chains)).flatMap(({ blueprints, owners }) => [
    ...blueprints
      .filter(({ spec }) =>
        spec.resources.some((resource) => resource.templateRef.kind === kind && templateNames(resource).includes(name)),
      )
      .map((blueprint) => edge('refers-to', objectReference(blueprint), to)),
    ...owners
      .flatMap(({ status }) => status?.resources ?? [])
      .filter(({ templateRef }) => templateRef?.kind === kind && templateRef.name === name)
      .flatMap(({ stampedRef }) => {
        const from = fromStatus(stampedRef)
        return from === undefined ? [] : [edge('made-from', from, to)]
      }),
  ])
}

function inputOf(owner: Owner, { blueprintKind }: ChainKinds, name: string): Relation {
  return edge('input-of', objectReference(owner), { apiVersion, kind: blueprintKind, name })
}

function edge(type: RelationType, from: ObjectReference, to: ObjectReference): Relation {
  return { type, from, to }
}

/** The value of a label; the annotation of the same key has the value that was too long for a label. */
function labelOf({ metadata }: KubeObject, key: string): string | undefined {
  const label = metadata.labels?.[key]
  return label === undefined ? undefined : (metadata.annotations?.[key] ?? label)
}

function fromStatus(reference: StatusReference | undefined): ObjectReference | undefined {
  const { apiVersion: version, kind, namespace, name } = reference ?? {}
  if (version === undefined || kind === undefined || name === undefined) return undefined
  return { apiVersion: version, kind, ...(namespace ? { namespace } : {}), name }
}
