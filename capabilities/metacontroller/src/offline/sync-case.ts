// A case of a CompositeController or DecoratorController: a parent, what exists, and the wanted decision. `fairlead
// metacontroller test` calls the hooks and decides as the controller does.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { ownerReferenceTo } from '@fairlead/kube'
import { KindCatalog } from '@fairlead/offline'
import { apiVersion } from '../api.ts'
import { withLastApplied } from '../children/merge.ts'
import { decoratorAnnotation } from '../decorator/decorator.ts'
import { formatReference } from './compare.ts'
import type { SyncManifest } from './sync-rendering.ts'
import { renderSync } from './sync-rendering.ts'
import type { SyncHooks } from '../sync/sync-hooks.ts'

/** A case. References to objects are `Kind/namespace/name`, or `Kind/name` for cluster-scoped ones. */
export interface SyncCase {
  readonly id: string
  readonly title?: string
  readonly input: {
    readonly controller: {
      readonly kind: SyncManifest['kind']
      readonly name: string
      readonly spec: JsonObject
    }
    /** The parent of a CompositeController, the object of a DecoratorController. */
    readonly parent: KubeObject
    /** Children that the controller wrote before, as the hook returned them. */
    readonly children?: readonly KubeObject[]
    /** Other objects that exist: related ones, orphans, namespaces. */
    readonly objects?: readonly KubeObject[]
  }
  /** The wanted decision; what is left out is not checked. */
  readonly want: {
    readonly writes?: readonly WantedChildWrite[]
    /** Fields of the status that the parent gets. */
    readonly status?: JsonObject
    readonly labels?: Readonly<Record<string, string | null>>
    readonly annotations?: Readonly<Record<string, string | null>>
    readonly resyncAfterSeconds?: number
    readonly finalized?: boolean
    /** Part of the message with which the sync fails. */
    readonly error?: string
  }
}

/** A write that must follow. */
export interface WantedChildWrite {
  readonly op: 'create' | 'update' | 'delete' | 'adopt' | 'release'
  readonly ref: string
  /** Fields that the written object must have. */
  readonly object?: JsonObject
}

/** The decision on a case. */
export interface SyncOutcome extends Omit<SyncCase['want'], 'writes' | 'error'> {
  readonly writes: readonly (WantedChildWrite & { readonly object: JsonObject })[]
  readonly error: string | undefined
}

/** The dependencies of a case. */
export interface SyncCaseOptions {
  /** Definitions of the kinds that the case uses. */
  readonly definitions: readonly KubeObject[]
  /** Returns the hooks of the case's controller. */
  readonly hooksFor: (controller: SyncManifest) => SyncHooks & AsyncDisposable
  readonly signal: AbortSignal
}

/** Decides on a case. Throws UnknownKindError, SpecError, SelectorError and InvalidHookError. */
export async function playSyncCase({ input }: SyncCase, options: SyncCaseOptions): Promise<SyncOutcome> {
  const { definitions, hooksFor, signal } = options
  const { name, kind, spec } = input.controller
  const controller = { apiVersion, kind, metadata: { name }, spec } as unknown as SyncManifest
  const parent = withIdentity(input.parent)
  const children = (input.children ?? []).map((child) => existingChild(child, parent, controller))
  const objects = [...definitions, parent, ...children, ...(input.objects ?? [])]
  await using hooks = hooksFor(controller)
  const rendered = await renderSync({ controller, objects, catalog: new KindCatalog(objects), hooks, signal })
  const found = rendered.find((one) => one.parent.metadata.uid === parent.metadata.uid)
  if (found === undefined)
    throw new Error(`The parent ${formatReference(parent)} is of no kind that the controller names`)
  const { adopt, release, plan, change, resyncAfterSeconds, finalized, error } = found
  const write = (op: WantedChildWrite['op'], object: KubeObject): SyncOutcome['writes'][number] => ({
    op,
    ref: formatReference(object),
    object: object as unknown as JsonObject,
  })
  return {
    writes: [
      ...adopt.map(({ object }) => write('adopt', object)),
      ...release.map(({ object }) => write('release', object)),
      ...plan.flatMap((action) =>
        action.op === 'keep' ? [] : write(action.op, 'object' in action ? action.object : action.observed),
      ),
    ],
    status: change?.status ?? {},
    labels: change?.labels ?? {},
    annotations: change?.annotations ?? {},
    ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
    finalized,
    error: error === undefined ? undefined : error instanceof Error ? error.message : String(error),
  }
}

function withIdentity(object: KubeObject): KubeObject {
  const { uid = `uid-of-${object.metadata.name ?? ''}` } = object.metadata
  return { ...object, metadata: { generation: 1, ...object.metadata, uid } }
}

/** Returns a child as the controller wrote it. */
function existingChild(child: KubeObject, parent: KubeObject, { kind, metadata }: SyncManifest): KubeObject {
  const { namespace } = parent.metadata
  const marks = kind === 'DecoratorController' ? { [decoratorAnnotation]: metadata.name ?? '' } : {}
  const annotations = { ...child.metadata.annotations, ...marks }
  const placed = { ...(namespace === undefined ? {} : { namespace }), ...child.metadata, annotations }
  const { annotations: given, ...plain } = placed
  const object = withLastApplied({ ...child, metadata: Object.keys(given).length === 0 ? plain : placed })
  return { ...object, metadata: { ...object.metadata, ownerReferences: [ownerReferenceTo(parent)] } }
}
