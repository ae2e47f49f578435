// Renders a CompositeController or DecoratorController over the objects of files: decides on every parent as the
// controller does in a cluster.
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import { controllerOf, formatKey } from '@fairlead/kube'
import type { KindCatalog } from '@fairlead/offline'
import type { CompositeController, DecoratorController } from '../api.ts'
import type { ChildAction } from '../children/child-plan.ts'
import { planChildren } from '../children/child-plan.ts'
import type { Child, ChildKind } from '../children/child.ts'
import { ownersOf, withOwners } from '../children/child.ts'
import type { Candidates } from '../children/claims.ts'
import { compositeFlavourOf } from '../composite/composite-controllers.ts'
import { decoratorFlavourOf } from '../decorator/decorator-controllers.ts'
import { relatedObjects } from '../engine/related.ts'
import type { ObjectsOfKind } from '../engine/request.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { decideRevisions } from '../revisions/revision-sync.ts'
import type { ControllerRevision } from '../revisions/revision.ts'
import { revisionKind } from '../revisions/revision.ts'
import type { Flavour, ParentChange, ParentKind } from '../sync/flavour.ts'
import { childKindOf } from '../sync/kind-resolver.ts'
import { managesChildren, parentStep } from '../sync/parent.ts'
import type { ParentStep } from '../sync/parent.ts'
import { isVisible, relatedRule, scopeOf } from '../sync/related-rules.ts'
import type { SyncResponse } from '../sync/response.ts'
import { readCustomizeResponse } from '../sync/response.ts'
import type { SyncHooks } from '../sync/sync-hooks.ts'
import { customizeRequest } from '../sync/sync-request.ts'
import { ObjectIndex } from './object-index.ts'

/** A CompositeController or DecoratorController of a file. */
export type SyncManifest =
  | (CompositeController & { readonly kind: 'CompositeController' })
  | (DecoratorController & { readonly kind: 'DecoratorController' })

/** The decision on one parent. */
export interface RenderedSync {
  readonly parent: KubeObject
  /** `addFinalizer` before a sync is part of `sync`. */
  readonly step: ParentStep
  /** The finalizer is added before the hook is called. */
  readonly addsFinalizer: boolean
  readonly adopt: readonly Child[]
  readonly release: readonly Child[]
  readonly plan: readonly ChildAction[]
  /** ControllerRevisions that are kept, for the rolling update methods. */
  readonly revisions: readonly ControllerRevision[]
  readonly change: ParentChange | undefined
  readonly finalized: boolean
  readonly resyncAfterSeconds: number | undefined
  readonly error: unknown
}

/** Options of {@link renderSync}. */
export interface RenderSyncOptions {
  readonly controller: SyncManifest
  /** Parents, children, related objects, definitions: everything that exists. */
  readonly objects: readonly KubeObject[]
  readonly catalog: KindCatalog
  readonly hooks: SyncHooks
  readonly signal: AbortSignal
}

/** Decides on all parents. Throws UnknownKindError, SpecError and SelectorError. */
export async function renderSync(options: RenderSyncOptions): Promise<RenderedSync[]> {
  const { controller, catalog, objects } = options
  const resolve = {
    parent: async (name: Parameters<KindCatalog['byResource']>[0]): Promise<ParentKind> => ({
      ...catalog.byResource(name),
      ignoreStatusChanges: false,
      hasStatusSubresource: true,
    }),
    child: async (name: Parameters<typeof childOf>[1]): Promise<ChildKind> => childOf(catalog, name),
  }
  const flavour =
    controller.kind === 'CompositeController'
      ? await compositeFlavourOf(controller, resolve)
      : await decoratorFlavourOf(controller, resolve)
  const kinds = [...flavour.parents, ...flavour.children]
  const index = new ObjectIndex(objects.map((object) => withNamespace(object, kinds)))
  const rendered: RenderedSync[] = []
  for (const kind of flavour.parents)
    for (const parent of index.list(kind))
      if (controller.spec.namespaces?.includes(parent.metadata.namespace ?? '') !== false)
        rendered.push(await renderParent(withUid(parent), kind, flavour, index, options))
  return rendered
}

function childOf(
  catalog: KindCatalog,
  name: Parameters<KindCatalog['byResource']>[0] & Parameters<typeof childKindOf>[1],
): ChildKind {
  return childKindOf(catalog.byResource(name), name)
}

async function renderParent(
  parent: KubeObject,
  kind: ParentKind,
  flavour: Flavour,
  index: ObjectIndex,
  { controller, hooks, catalog, signal }: RenderSyncOptions,
): Promise<RenderedSync> {
  const { finalizer } = flavour
  const hasFinalizeHook = hooks.finalize !== undefined
  const facts = { parent, isSelected: flavour.selects(parent), finalizer, hasFinalizeHook }
  const first = parentStep(facts)
  const addsFinalizer = first === 'addFinalizer'
  const step = addsFinalizer ? (facts.isSelected ? 'sync' : 'finalize') : first
  const nothing = {
    parent,
    step,
    addsFinalizer,
    adopt: [],
    release: [],
    plan: [],
    revisions: [],
    change: undefined,
    finalized: false,
    resyncAfterSeconds: undefined,
    error: undefined,
  }
  const hook = step === 'finalize' ? hooks.finalize : hooks.sync
  if (step === 'ignore' || step === 'removeFinalizer' || hook === undefined) return nothing
  try {
    const claims = flavour.claim(parent, candidatesOf(parent, flavour.children, index, flavour.adopts))
    const children = [...claims.children, ...claims.adopt]
    const related = await relatedOf(parent, index, { controller, hooks, catalog, signal })
    const finalizing = step === 'finalize'
    const { caller, version } = hook
    const ask = async (of: KubeObject, revision: string): Promise<SyncResponse> => {
      const given = controller as unknown as KubeObject
      const request = flavour.request({ controller: given, parent: of, children, related, finalizing, version })
      const body = await caller.call({ request, group: `${parent.metadata.uid}/${revision}`, signal })
      const name = finalizing ? ('finalize' as const) : ('sync' as const)
      const response = flavour.readResponse(body, { hook: name, parent, strict: caller.strict })
      return { ...response, children: withOwners(parent, flavour.prepare(parent, response.children)) }
    }
    const manages = managesChildren({ parent, finalizer, hasFinalizeHook })
    const rules = manages ? flavour.revisions : undefined
    const decision =
      rules === undefined
        ? { response: await ask(parent, ''), kept: [] }
        : await decideRevisions({
            parent,
            parentKind: kind,
            kinds: flavour.children,
            rules,
            observed: observedRevisions(rules.claim(parent, candidatesOf(parent, [revisionKind], index, true))),
            children,
            ask,
          })
    const { response, kept } = decision
    return {
      ...nothing,
      adopt: claims.adopt,
      release: claims.release,
      plan: manages ? planChildren(parent, children, response.children) : [],
      revisions: kept.map(({ revision, recorded }) => ({ ...revision, children: recorded })),
      change: flavour.parentChange(parent, response),
      finalized: response.finalized,
      resyncAfterSeconds: response.resyncAfterSeconds,
    }
  } catch (error) {
    return { ...nothing, error }
  }
}

function observedRevisions({ children, adopt }: ReturnType<Flavour['claim']>): readonly ControllerRevision[] {
  return [...children, ...adopt].map(({ object }) => object as ControllerRevision)
}

function candidatesOf(
  { metadata: { uid, namespace } }: KubeObject,
  kinds: readonly ChildKind[],
  index: ObjectIndex,
  adopts: boolean,
): Candidates {
  const children = kinds.flatMap((kind) => [...index.list(kind, namespace)].map((object) => ({ kind, object })))
  return {
    owned: children.filter(({ kind, object }) => uid !== undefined && ownersOf(kind, object).includes(uid)),
    orphans: adopts
      ? children.filter(({ kind, object }) => kind.ownership !== 'Owner' && controllerOf(object) === undefined)
      : [],
  }
}

async function relatedOf(
  parent: KubeObject,
  index: ObjectIndex,
  { controller, hooks: { customize }, catalog, signal }: Omit<RenderSyncOptions, 'objects'>,
): Promise<readonly ObjectsOfKind[]> {
  if (customize === undefined) return []
  const { caller, version } = customize
  const request = customizeRequest(controller as unknown as KubeObject, parent)
  const body = await caller.call({ request, group: parent.metadata.uid ?? '', signal })
  const rules = readCustomizeResponse(body, caller.strict).map((rule) =>
    relatedRule(rule, catalog.byResource(rule), parent, version),
  )
  const reader = {
    get: (rule: number, key: ObjectKey) => index.get(rules[rule]!, formatKey(key)),
    list: (rule: number, namespace: string | undefined) => index.list(rules[rule]!, namespace),
    namespaceLabels: (name: string) => index.get({ apiVersion: 'v1', kind: 'Namespace' }, name)?.metadata.labels,
  }
  return relatedObjects(rules, reader, scopeOf(parent, version)).map(({ kind, objects }) => ({
    kind,
    objects: objects.filter((one) => isVisible(one, parent, version)),
  }))
}

/** Returns a namespaced object in the namespace `default` when it names none. */
function withNamespace(object: KubeObject, kinds: readonly ResolvedResource[]): KubeObject {
  if (object.metadata.namespace !== undefined) return object
  const kind = kinds.find((one) => one.kind === object.kind && one.apiVersion === object.apiVersion)
  return kind?.namespaced === true ? { ...object, metadata: { ...object.metadata, namespace: 'default' } } : object
}

function withUid(object: KubeObject): KubeObject {
  const { uid, namespace = '', name = '' } = object.metadata
  return { ...object, metadata: { ...object.metadata, uid: uid ?? `uid-of-${namespace}-${name}` } }
}
