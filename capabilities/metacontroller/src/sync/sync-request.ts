// The bodies of sync and finalize requests, in the shape that both kinds of controllers share. Pure.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson } from '@fairlead/kube'
import type { Child, ChildKind } from '../children/child.ts'
import type { ObjectsOfKind } from '../engine/request.ts'
import { objectsByKind, requestKeys, withoutManagedFields } from '../engine/request.ts'
import type { SyncFacts } from './flavour.ts'

/** The fields of the parent and its children: `parent` and `children`, or `object` and `attachments`. */
export interface SyncFields {
  readonly parent: 'parent' | 'object'
  readonly children: 'children' | 'attachments'
}

/** Returns the body of a request; every declared kind of children has an entry, empty ones too. */
export function syncRequest(facts: SyncFacts, kinds: readonly ChildKind[], fields: SyncFields): JsonObject {
  const { controller, parent, children, related, finalizing, version } = facts
  const keyed = requestKeys(parent, version)
  return {
    controller: trimmed(controller),
    [fields.parent]: trimmed(parent),
    [fields.children]: objectsByKind(byKind(kinds, children), keyed, trimmed),
    related: objectsByKind(related, keyed, trimmed),
    finalizing,
  }
}

/** Returns the body of a customize request. */
export function customizeRequest(controller: KubeObject, parent: KubeObject): JsonObject {
  return { controller: trimmed(controller), parent: trimmed(parent) }
}

function byKind(kinds: readonly ChildKind[], children: readonly Child[]): readonly ObjectsOfKind[] {
  return kinds.map((kind) => ({
    kind,
    objects: children.filter((child) => child.kind === kind).map(({ object }) => object),
  }))
}

function trimmed(object: KubeObject): JsonObject {
  return asJson(withoutManagedFields(object))
}
