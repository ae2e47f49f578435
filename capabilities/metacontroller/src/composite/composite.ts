// CompositeControllers: children are selected by the parent's selector, adopted and released; the response is the whole
// status of the parent (originals/metacontroller.md §2).
import type { KubeObject, LabelSelector, Selector } from '@fairlead/kube'
import { SelectorError, everything, isJsonObject, isTerminating, selectorFrom } from '@fairlead/kube'
import type { CompositeController } from '../api.ts'
import type { Child, ChildKind } from '../children/child.ts'
import { isRolling } from '../children/child.ts'
import type { Candidates, Claims } from '../children/claims.ts'
import { adoptByAnnotation } from '../engine/annotations.ts'
import { ResponseError } from '../engine/response.ts'
import type { RevisionRules } from '../revisions/revision.ts'
import { revisionLabels, templateLabels } from '../revisions/revision.ts'
import type { Flavour, ParentKind } from '../sync/flavour.ts'
import { readSyncResponse } from '../sync/response.ts'
import { syncRequest } from '../sync/sync-request.ts'

/** Label of the children of a parent whose selector is generated. */
const generatedLabel = 'controller-uid'

/** Begins the names of the finalizers of CompositeControllers. */
export const finalizerPrefix = 'metacontroller.io/compositecontroller-'

/** Returns the flavour of a CompositeController. Throws SelectorError. */
export function compositeFlavour(
  { metadata, spec }: CompositeController,
  parent: ParentKind,
  children: readonly ChildKind[],
): Flavour {
  const generates = spec.generateSelector === true
  const labels = spec.parentResource.labelSelector
  const selector = labels === undefined ? everything : selectorFrom(labels)
  return {
    controllerType: 'CompositeController',
    finalizer: `${finalizerPrefix}${metadata.name ?? ''}`,
    parents: [parent],
    children,
    revisions: revisionRules(spec.parentResource, parent, children, generates),
    adopts: !generates,
    writesParentLast: true,
    selects: (object) => selector.matches(object.metadata.labels),
    adoptionSelector: (object) => {
      if (generates) return undefined
      try {
        return childSelector(object, generates)
      } catch (error) {
        if (error instanceof SelectorError) return undefined
        throw error
      }
    },
    claim: (object, candidates) => claimChildren(object, childSelector(object, generates), candidates),
    request: (facts) => syncRequest(facts, children, { parent: 'parent', children: 'children' }),
    readResponse: (body, context) =>
      readSyncResponse(body, {
        ...context,
        list: 'children',
        fields: ['status', 'children', 'resyncAfterSeconds', 'finalized', 'events'],
        kinds: children,
      }),
    prepare: (object, desired) => {
      const wanted = generates ? desired.map((child) => withGeneratedLabel(object, child)) : desired
      const selects = childSelector(object, generates)
      const wrong = wanted.find((child) => !selects.matches(child.object.metadata.labels))
      if (wrong === undefined) return wanted
      const { kind, metadata: of } = wrong.object
      throw new ResponseError(
        'InvalidOutput',
        `labels on desired child ${kind} ${of.namespace ?? ''}/${of.name ?? ''} don't match parent selector`,
      )
    },
    parentChange: (object, { status }) => ({
      status: { ...status, observedGeneration: object.metadata.generation ?? 0 },
      labels: {},
      annotations: {},
    }),
  }
}

/** Returns the selector of a parent's children. Throws SelectorError when it is missing, empty or invalid. */
export function childSelector(parent: KubeObject, generates: boolean): Selector {
  if (generates) return selectorFrom({ matchLabels: { [generatedLabel]: parent.metadata.uid ?? '' } })
  const given = isJsonObject(parent.spec) ? parent.spec['selector'] : undefined
  if (!isJsonObject(given))
    throw new SelectorError('.spec.selector must have either matchLabels, matchExpressions, or both')
  const selector = selectorFrom(given as unknown as LabelSelector)
  if (selector.isEmpty)
    throw new SelectorError('.spec.selector must have either matchLabels, matchExpressions, or both')
  return selector
}

function revisionRules(
  { revisionHistory }: CompositeController['spec']['parentResource'],
  parentKind: ParentKind,
  children: readonly ChildKind[],
  generates: boolean,
): RevisionRules | undefined {
  if (!children.some(isRolling)) return undefined
  const { fieldPaths = [] } = revisionHistory ?? {}
  const kindLabels = Object.entries(revisionLabels(parentKind))
  const isOfKind = ({ object: { metadata } }: Child): boolean =>
    kindLabels.every(([label, value]) => metadata.labels?.[label] === value)
  return {
    fieldPaths: fieldPaths.length === 0 ? ['spec'] : fieldPaths,
    labels: (parent) => (generates ? { [generatedLabel]: parent.metadata.uid ?? '' } : templateLabels(parent)),
    // A ControllerRevision is never released: its labels are not the user's, and the next sync would miss it.
    claim: (parent, { owned, orphans }) => {
      const selector = childSelector(parent, generates)
      const { children: _children, adopt } = claimChildren(parent, selector, { owned: [], orphans })
      return { children: owned.filter(isOfKind), adopt: adopt.filter(isOfKind), release: [] }
    },
  }
}

/** Returns the children of a parent: what it controls and selects, and the orphans that it selects. */
export function claimChildren(parent: KubeObject, selector: Selector, { owned, orphans }: Candidates): Claims {
  const isSelected = ({ object }: Child): boolean => selector.matches(object.metadata.labels)
  const isEnding = isTerminating(parent)
  return {
    children: owned.filter(isSelected),
    release: isEnding ? [] : owned.filter((child) => !isSelected(child)),
    adopt: isEnding ? [] : orphans.filter((child) => isSelected(child) && isAdoptable(child)),
  }
}

/** A child that was released waits until the hook wants it again, or its annotation is removed. */
function isAdoptable({ kind, object }: Child): boolean {
  const isReleased = kind.deletionPolicy === 'Orphan' && object.metadata.annotations?.[adoptByAnnotation] !== undefined
  return !isReleased && !isTerminating(object)
}

function withGeneratedLabel(parent: KubeObject, { kind, object }: Child): Child {
  const { labels = {} } = object.metadata
  const uid = labels[generatedLabel] ?? parent.metadata.uid ?? ''
  return { kind, object: { ...object, metadata: { ...object.metadata, labels: { ...labels, [generatedLabel]: uid } } } }
}
