// Related objects of parents: asks the customize hook once for each generation of a parent, watches what its rules
// name, and wakes the parent when that changes.
import type { Informer, InformerPool, InformerUse, ObjectChange } from '@fairlead/controller'
import { KindUnavailable } from '@fairlead/controller'
import type { Kind } from '@fairlead/client'
import type { KubeObject, ObjectKey } from '@fairlead/kube'
import type { HookVersion } from '../api.ts'
import type { ObjectsOfKind } from '../engine/request.ts'
import type { RelatedKind, ResolvedResource } from '../engine/resource.ts'
import type { ResourceName } from '../engine/kinds.ts'
import { syncRequestOf } from '../engine/annotations.ts'
import { isRelated, relatedObjects, selectsOtherNamespaces } from '../engine/related.ts'
import { clientKind } from '../runtime/client-kind.ts'
import type { Namespaces } from '../runtime/kind-cache.ts'
import { RelatedCache } from '../runtime/related-cache.ts'
import { isVisible, relatedRule, scopeOf } from './related-rules.ts'
import { readCustomizeResponse } from './response.ts'
import type { HookCaller } from './sync-hooks.ts'

/** Dependencies of {@link Customize}. */
export interface CustomizeOptions {
  readonly pool: InformerPool
  /** The namespaces that the controller is limited to; all when undefined. */
  readonly namespaces: Namespaces
  readonly hook: HookCaller
  readonly version: HookVersion
  /** Returns when a sync of all parents was requested last. */
  readonly asked: () => string | undefined
  /** Returns the request of a parent. */
  readonly request: (parent: KubeObject) => Parameters<HookCaller['call']>[0]['request']
  readonly resolve: (name: ResourceName) => Promise<ResolvedResource>
  /** Called when a related object of a parent changed, or became known. */
  readonly onChange: (parentUid: string) => void
}

interface Rules {
  /** The version of the parent that the hook was called with. */
  readonly of: string
  readonly caches: readonly RelatedCache[]
  readonly namespaces: InformerUse | undefined
  readonly disposables: readonly Disposable[]
}

const namespaceKind = clientKind({
  apiVersion: 'v1',
  group: '',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
})

/** The related objects of the parents of one controller. */
export class Customize implements Disposable {
  readonly #options: CustomizeOptions
  readonly #rules = new Map<string, Rules>()

  constructor(options: CustomizeOptions) {
    this.#options = options
  }

  /**
   * Returns the related objects of a parent; undefined while one of their kinds is being listed. Throws what the hook
   * throws, ResponseError, ClientError `UnknownKind`, and KindUnavailable for a kind that may not be read or is not
   * served any more.
   */
  async related(parent: KubeObject, signal: AbortSignal): Promise<readonly ObjectsOfKind[] | undefined> {
    const { uid = '', generation, resourceVersion } = parent.metadata
    const of = [generation ?? resourceVersion, syncRequestOf(parent), this.#options.asked()].join('|')
    let rules = this.#rules.get(uid)
    if (rules?.of !== of) {
      const next = await this.#ask(parent, of, signal)
      this.forget(uid)
      this.#rules.set(uid, next)
      rules = next
    }
    const { caches, namespaces } = rules
    const informers = informersOf(rules)
    for (const { kind, informer } of informers)
      if (informer.state === 'Forbidden' || informer.state === 'Absent')
        throw new KindUnavailable(kind, informer.state, informer.error)
    if (informers.some(({ informer }) => informer.state !== 'Synced')) return undefined
    const { version } = this.#options
    const reader = {
      get: (rule: number, key: ObjectKey) => caches[rule]?.get(key),
      list: (rule: number, namespace: string | undefined) => caches[rule]?.list(namespace) ?? [],
      namespaceLabels: (name: string) => namespaceLabels(namespaces, name),
    }
    const kinds = caches.map(({ rule }) => rule)
    return relatedObjects(kinds, reader, scopeOf(parent, version)).map(({ kind, objects }) => ({
      kind,
      objects: objects.filter((object) => isVisible(object, parent, version)),
    }))
  }

  /** Retries the kinds that could not be listed for a missing right. */
  retryForbidden(): void {
    for (const rules of this.#rules.values())
      for (const { informer } of informersOf(rules)) if (informer.state === 'Forbidden') informer.wake()
  }

  /** Forgets a parent that was deleted. */
  forget(uid: string): void {
    const rules = this.#rules.get(uid)
    this.#rules.delete(uid)
    for (const one of rules?.disposables ?? []) one[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    for (const uid of this.#rules.keys()) this.forget(uid)
  }

  async #ask(parent: KubeObject, of: string, signal: AbortSignal): Promise<Rules> {
    const { hook, request, resolve, version, pool, namespaces: limits } = this.#options
    const { uid = '' } = parent.metadata
    const body = await hook.call({ request: request(parent), group: uid, signal })
    const kinds: RelatedKind[] = []
    for (const rule of readCustomizeResponse(body, hook.strict))
      kinds.push(relatedRule(rule, await resolve(rule), parent, version))
    const caches = kinds.map((rule) => new RelatedCache(pool, rule, limits))
    const selectsNamespaces = kinds.some(({ spec }) => spec.namespaceSelector !== undefined)
    const namespaces = selectsNamespaces ? pool.use(namespaceKind) : undefined
    const scope = scopeOf(parent, version)
    const wake = (): void => this.#options.onChange(uid)
    const listening = caches.map((cache) =>
      cache.subscribe((change) => {
        const changed = [change.object, change.previous].filter((object) => object !== undefined)
        const labelsOf = (name: string): Readonly<Record<string, string>> | undefined =>
          namespaceLabels(namespaces, name)
        if (changed.some((object) => isRelated(cache.rule, scope, object, labelsOf))) wake()
      }, wake),
    )
    const onNamespace = ({ type, object, previous }: ObjectChange): void => {
      const now = type === 'removed' ? undefined : (object.metadata.labels ?? {})
      const before = previous === undefined ? undefined : (previous.metadata.labels ?? {})
      if (selectsOtherNamespaces(kinds, before, now)) wake()
    }
    const ofNamespaces =
      namespaces === undefined
        ? []
        : [namespaces.informer.subscribe({ changed: onNamespace, state: wake }, { replay: false }), namespaces]
    return { of, caches, namespaces, disposables: [...listening, ...caches, ...ofNamespaces] }
  }
}

interface KindInformer {
  readonly kind: Kind
  readonly informer: Pick<Informer, 'state' | 'error' | 'wake'>
}

function informersOf({ caches, namespaces }: Rules): readonly KindInformer[] {
  const ofRules = caches.flatMap(({ rule, informers }) =>
    informers.map((informer) => ({ kind: clientKind(rule), informer })),
  )
  return namespaces === undefined ? ofRules : [...ofRules, { kind: namespaceKind, informer: namespaces.informer }]
}

function namespaceLabels(
  namespaces: InformerUse | undefined,
  name: string,
): Readonly<Record<string, string>> | undefined {
  const found = namespaces?.informer.lastKnown.get(name)
  return found === undefined ? undefined : (found.metadata.labels ?? {})
}
