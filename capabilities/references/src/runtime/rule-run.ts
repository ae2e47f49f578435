// Runs one ReferenceRule in one generation of its spec: targets and sources are watched, a change of a source wakes the
// targets that see it, and the field of a target is written with the rights of its service account.
import { isClientError } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import { KindUnavailable, after, serviceAccountSubject } from '@fairlead/controller'
import type { Informer, InformerUse, Manager, Reader, Result, WorkContext, WorkLoop } from '@fairlead/controller'
import {
  DisposableStack,
  formatKey,
  isConflict,
  isForbidden,
  isInvalid,
  isTerminating,
  keyOf,
  parseKey,
  selectorFrom,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, ObjectKey } from '@fairlead/kube'
import type { ReferenceRule } from '../api.ts'
import { planField, rootOf } from '../engine/field-plan.ts'
import type { FieldRule, TargetState } from '../engine/field-plan.ts'
import type { ObjectId } from '../engine/object-id.ts'
import { withValue } from '../engine/occurrences.ts'
import { ReferenceIndex, edgesOf } from '../engine/reference-index.ts'
import { CachedReferents, lookUp } from './cached-referents.ts'
import { referenceGrantKind } from './kinds.ts'
import type { ReferenceGrantObject } from './kinds.ts'

/** Kinds of a rule, resolved by discovery. */
export interface RuleKinds {
  readonly target: Kind
  readonly source: Kind & { readonly plural: string; readonly namespaced: boolean }
}

/** Options of a {@link RuleRun}. */
export interface RuleRunOptions {
  readonly manager: Manager
  readonly rule: ReferenceRule
  readonly fields: FieldRule
  readonly kinds: RuleKinds
  /** Called when {@link RuleRun.state} may have changed; must not throw. */
  readonly onStateChange: () => void
}

/** State of all targets of a run. */
export interface RuleState {
  readonly targets: ReadonlyMap<string, TargetState>
  /** Kinds that cannot be read now, with the reason. */
  readonly problems: readonly string[]
  /** Set once every kind was listed, or could not be. */
  readonly isListed: boolean
}

/** Targets that are worked on at a time, for each rule. */
const concurrency = 8
/** Milliseconds until a write that the server refused is tried again, unless rights or the target change before. */
const refusedRetry = 60_000
const roleKinds = ['Role', 'RoleBinding'] as const
const clusterRoleKinds = ['ClusterRole', 'ClusterRoleBinding'] as const

/** Resolves the references of one rule. */
export class RuleRun implements AsyncDisposable {
  readonly loop: WorkLoop<string>
  readonly #options: RuleRunOptions
  readonly #index = new ReferenceIndex()
  readonly #targets = new Map<string, TargetState>()
  readonly #target: Informer
  readonly #source: Informer
  readonly #grants: Informer<ReferenceGrantObject>
  readonly #referents: CachedReferents
  readonly #subscriptions = new DisposableStack()

  constructor(options: RuleRunOptions) {
    const { manager, rule, fields, kinds } = options
    this.#options = options
    this.loop = manager.loop<string>({
      name: `reference-rule-${rule.metadata.name}`,
      id: (key) => key,
      namespaceOf: (key) => parseKey(key).namespace,
      concurrency,
      manager: fields.manager,
      run: (key, context) => this.#run(key, context),
      failed: (key, error) => this.#report(key, failureOf(error)),
      logFields: (target) => ({ target }),
    })
    this.#target = this.#watch(this.loop.watch(kinds.target, (object) => [formatKey(keyOf(object))]))
    this.#source = this.#watch(this.loop.watch(kinds.source, (object) => this.#dependentsOf(keyOf(object))))
    this.#grants = this.#watch(
      this.loop.watch(referenceGrantKind, ({ metadata }) => this.#crossing(metadata.namespace)),
    )
    this.#referents = new CachedReferents(this.#source, this.#grants, this.#index)
  }

  /** Starts the work on targets. */
  start(): void {
    this.loop.start()
  }

  get state(): RuleState {
    const unknown = [this.#target.read(), this.#source.read(), this.#grants.read()].flatMap((cache) =>
      cache.known ? [] : [cache.reason],
    )
    const problems = unknown.filter(({ state }) => state !== 'Syncing').map(({ message }) => message)
    return { targets: this.#targets, problems, isListed: unknown.length === problems.length }
  }

  /** Stops the run; values that were set stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscriptions.dispose()
    await this.loop.stop()
  }

  #watch<T extends KubeObject>({ informer }: InformerUse<T>): Informer<T> {
    // A kind that can be read again, or no longer, changes what is known of every target.
    const requeue = (): void => {
      for (const key of this.#target.lastKnown.keys()) this.loop.add(key, 'low')
      this.#options.onStateChange()
    }
    this.#subscriptions.use(informer.subscribe({ state: requeue }, { replay: false }))
    return informer
  }

  #idOfTarget({ namespace, name }: ObjectKey): ObjectId {
    const { group, kind } = this.#options.kinds.target
    return { group, kind, namespace, name }
  }

  #idOfSource({ namespace, name }: ObjectKey): ObjectId {
    const { group, kind } = this.#options.kinds.source
    return { group, kind, namespace, name }
  }

  /** Returns the targets that see a change of a source. */
  #dependentsOf(key: ObjectKey): readonly string[] {
    return this.#index.changed(this.#idOfSource(key), lookUp(this.#source, key)).map(formatKey)
  }

  /** Returns the targets that refer to a namespace other than their own. */
  #crossing(namespace: string | undefined): readonly string[] {
    const { group, kind } = this.#options.kinds.source
    return this.#index
      .referentsOf(group, kind)
      .filter((referent) => referent.namespace === namespace)
      .flatMap((referent) => this.#index.dependentsOf(referent))
      .filter((dependent) => dependent.namespace !== namespace)
      .map(formatKey)
  }

  async #run(key: string, context: WorkContext): Promise<Result> {
    // Nothing is concluded from a cache that is not synced; its next state requeues the target.
    const targets = this.#target.read()
    if (!targets.known) return undefined
    const { fields, rule } = this.#options
    const target = targets.objects.get(key)
    const id = this.#idOfTarget(parseKey(key))
    const isSelected = (object: KubeObject): boolean =>
      selectorFrom(rule.spec.target.labelSelector ?? {}).matches(object.metadata.labels ?? {})
    if (target === undefined || isTerminating(target) || !isSelected(target)) {
      this.#index.delete(id)
      return this.#report(key, undefined)
    }
    const edges = edgesOf(id, rootOf(target, fields), [fields.row])
    this.#index.set(id, edges)
    for (const { to } of edges) {
      const denied = await this.#denied(id, to, context.read)
      if (denied !== undefined) {
        this.#report(key, denied)
        return after(refusedRetry)
      }
      this.#index.noted(to, lookUp(this.#source, to))
    }
    const plan = planField(id, target, fields, this.#referents)
    if (plan.do === 'keep') return this.#report(key, plan.state)
    return this.#write(key, target, plan, context)
  }

  /** Returns the state of a target whose service account may not read the source. RBAC changes requeue the target. */
  async #denied(id: ObjectId, source: ObjectId, read: Reader): Promise<TargetState | undefined> {
    const { manager, kinds } = this.#options
    const { group, plural: resource, version } = kinds.source
    const namespace = source.namespace === '' ? undefined : source.namespace
    const subject = serviceAccountSubject(this.#account(id.namespace))
    const access = {
      verb: 'get',
      group,
      version,
      resource,
      name: source.name,
      ...(namespace === undefined ? {} : { namespace }),
    }
    const { allowed } = await manager.access.check(subject, access)
    if (allowed) return undefined
    await requeueOnGrant(id.namespace, source.namespace, read)
    const place = namespace === undefined ? '' : ` in namespace ${namespace}`
    return {
      state: 'failing',
      reason: 'Forbidden',
      message: `${subject.user} may not get ${resource}${group === '' ? '' : `.${group}`}${place}; bind a Role with this right to it`,
    }
  }

  #account(namespace: string): { readonly namespace: string; readonly name: string } {
    return { namespace, name: this.#options.rule.spec.serviceAccountName ?? 'default' }
  }

  async #write(
    key: string,
    target: KubeObject,
    plan: { readonly do: 'set'; readonly value: JsonValue; readonly state: TargetState } | { readonly do: 'withdraw' },
    { read, signal }: WorkContext,
  ): Promise<Result> {
    const { manager, fields } = this.#options
    const { apiVersion, kind, metadata } = target
    const { namespace = '', name, uid } = metadata
    const identity = { apiVersion, kind, metadata: { namespace, name, uid } } as unknown as JsonObject
    const body = plan.do === 'set' ? withValue(identity, fields.row.fieldPath, plan.value) : identity
    const client = manager.as({ serviceAccount: this.#account(namespace) }).with({ manager: fields.manager })
    try {
      await client.apply(body as unknown as KubeObject, { force: false, signal })
    } catch (error) {
      if (isForbidden(error)) {
        await requeueOnGrant(namespace, namespace, read)
        this.#report(key, failureOf(error))
        return after(refusedRetry)
      }
      // A conflict over the field, or a schema that refuses the value: only a change of the target can end it. A 404 is
      // retried: it may be the kind that is missing for a while; a deleted target is forgotten by its event.
      if (!isConflict(error) && !isInvalid(error)) throw error
      return this.#report(key, failureOf(error))
    }
    return this.#report(key, plan.do === 'set' ? plan.state : undefined)
  }

  #report(key: string, state: TargetState | undefined): undefined {
    const before = this.#targets.get(key)
    if (before?.state === state?.state && before?.message === state?.message && before?.reason === state?.reason)
      return undefined
    if (state === undefined) this.#targets.delete(key)
    else this.#targets.set(key, state)
    this.#options.onStateChange()
    return undefined
  }
}

function failureOf(error: unknown): TargetState {
  const message = error instanceof Error ? error.message : String(error)
  if (isForbidden(error)) return { state: 'failing', reason: 'Forbidden', message }
  if (isConflict(error)) return { state: 'failing', reason: 'FieldConflict', message }
  if (isInvalid(error)) return { state: 'failing', reason: 'Invalid', message }
  return { state: 'failing', reason: 'WriteFailed', message }
}

/** Reads the RBAC objects that can grant a right, so that their changes requeue the reader. */
async function requeueOnGrant(account: string, source: string, read: Reader): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  try {
    for (const namespace of new Set([account, source]))
      if (namespace !== '') for (const kind of roleKinds) await read.list({ apiVersion, kind }, { namespace })
    for (const kind of clusterRoleKinds) await read.list({ apiVersion, kind })
  } catch (error) {
    if (!(error instanceof KindUnavailable) && !isClientError(error)) throw error
  }
}
