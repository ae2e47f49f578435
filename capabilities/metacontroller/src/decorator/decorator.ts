// DecoratorControllers: objects of other kinds get labels, annotations, status and attachments; attachments are known
// by an annotation and never adopted (originals/metacontroller.md §2).
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson, everything, selectorFrom } from '@fairlead/kube'
import type { DecoratorController } from '../api.ts'
import type { ChildKind } from '../children/child.ts'
import { objectsByKind, requestKeys, withoutManagedFields } from '../engine/request.ts'
import { childrenByKind } from '../sync/children-by-kind.ts'
import type { Flavour, ParentKind } from '../sync/flavour.ts'
import { readSyncResponse } from '../sync/response.ts'

/** Annotation of attachments with the name of their DecoratorController. */
const decoratorAnnotation = 'metacontroller.k8s.io/decorator-controller'

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
    mayAdopt: () => false,
    claim: (_parent, { owned }) => ({
      children: owned.filter(({ object }) => object.metadata.annotations?.[decoratorAnnotation] === name),
      adopt: [],
      release: [],
    }),
    request: ({ controller, parent, children: observed, related, finalizing, version }) => {
      const keyed = requestKeys(parent, version)
      const trimmed = (one: KubeObject): JsonObject => asJson(withoutManagedFields(one))
      return {
        controller: trimmed(controller),
        object: trimmed(parent),
        attachments: objectsByKind(childrenByKind(children, observed), keyed, trimmed),
        related: objectsByKind(related, keyed, trimmed),
        finalizing,
      }
    },
    readResponse: (body, context) =>
      readSyncResponse(body, {
        ...context,
        list: 'attachments',
        fields: ['labels', 'annotations', 'status', 'attachments', 'resyncAfterSeconds', 'finalized'],
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
