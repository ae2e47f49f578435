// DecoratorControllers: objects of other kinds get labels, annotations, status and attachments; attachments are known
// by an annotation and never adopted (originals/metacontroller.md §2).
import { everything, selectorFrom } from '@fairlead/kube'
import type { DecoratorController } from '../api.ts'
import type { ChildKind } from '../children/child.ts'
import type { Flavour, ParentKind } from '../sync/flavour.ts'
import { readSyncResponse } from '../sync/response.ts'
import { syncRequest } from '../sync/sync-request.ts'

/** Annotation of attachments with the name of their DecoratorController. */
export const decoratorAnnotation = 'metacontroller.k8s.io/decorator-controller'

/** Begins the names of the finalizers of DecoratorControllers. */
export const finalizerPrefix = 'metacontroller.io/decoratorcontroller-'

/** Returns the flavour of a DecoratorController. `parents` are in the order of the spec. Throws SelectorError. */
export function decoratorFlavour(
  { metadata, spec }: DecoratorController,
  parents: readonly ParentKind[],
  children: readonly ChildKind[],
): Flavour {
  const { name = '' } = metadata
  const selectors = spec.resources.map(({ labelSelector, annotationSelector }) => ({
    labels: labelSelector === undefined ? everything : selectorFrom(labelSelector),
    annotations:
      annotationSelector === undefined
        ? everything
        : selectorFrom({
            ...(annotationSelector.matchAnnotations && { matchLabels: annotationSelector.matchAnnotations }),
            ...(annotationSelector.matchExpressions && { matchExpressions: annotationSelector.matchExpressions }),
          }),
  }))
  return {
    controllerType: 'DecoratorController',
    finalizer: `${finalizerPrefix}${name}`,
    parents,
    children,
    revisions: undefined,
    adopts: false,
    writesParentLast: false,
    selects: ({ apiVersion, kind, metadata: { labels, annotations } }) => {
      const at = parents.findIndex((one) => one.apiVersion === apiVersion && one.kind === kind)
      const selector = selectors[at]
      return selector !== undefined && selector.labels.matches(labels) && selector.annotations.matches(annotations)
    },
    adoptionSelector: () => undefined,
    claim: (_parent, { owned }) => ({
      children: owned.filter(({ object }) => object.metadata.annotations?.[decoratorAnnotation] === name),
      adopt: [],
      release: [],
    }),
    request: (facts) => syncRequest(facts, children, { parent: 'object', children: 'attachments' }),
    readResponse: (body, context) =>
      readSyncResponse(body, {
        ...context,
        list: 'attachments',
        fields: ['labels', 'annotations', 'status', 'attachments', 'resyncAfterSeconds', 'finalized', 'events'],
        kinds: children,
      }),
    prepare: (_parent, desired) =>
      desired.map(({ kind, object }) => {
        const annotations = { ...object.metadata.annotations, [decoratorAnnotation]: name }
        return { kind, object: { ...object, metadata: { ...object.metadata, annotations } } }
      }),
    parentChange: (_parent, { status, labels, annotations }) => ({ status: status ?? undefined, labels, annotations }),
  }
}
