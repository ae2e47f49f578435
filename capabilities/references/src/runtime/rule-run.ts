// Runs one ReferenceRule in one generation of its spec: targets and sources are watched, a change of a source wakes the
// targets that see it, and the field of a target is written with the rights of its service account.
import type { Kind } from '@fairlead/client'
import { GrantWatch, after, serviceAccountSubject } from '@fairlead/controller'
import type { Informer, InformerUse, Manager, Result, WorkContext, WorkLoop } from '@fairlead/controller'
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
import type { JsonObject, KubeObject, ObjectKey } from '@fairlead/kube'
import type { ReferenceRule } from '../api.ts'
import { planField, rootOf } from '../engine/field-plan.ts'
import type { FieldPlan, FieldRule, TargetState } from '../engine/field-plan.ts'
import type { ObjectId } from '../engine/object-id.ts'
import { withValue } from '../engine/occurrences.ts'
import { ReferenceIndex, edgesOf } from '../engine/reference-index.ts'
import type { Edge } from '../engine/reference-index.ts'
import { CachedReferents, lookUp } from './cached-referents.ts'
import { referenceGrantKind } from './kinds.ts'
import type { ReferenceGrantObject } from './kinds.ts'
import type { ReferenceMetrics } from './reference-metrics.ts'

/** Kinds of a rule, resolved by discovery. */
export interface RuleKinds {
  readonly target: Kind
  readonly source: Kind & { readonly plural: string; readonly namespaced: boolean }
}

/** Options of a {@link RuleRun}. */
export interface RuleRunOptions {
  readonly manager: Manager
  readonly metrics: ReferenceMetrics
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
  /** Why rights that are granted now may go unnoticed, while one is missing. */
  readonly unseenRights?: string
}

/** Targets that are worked on at a time, for each rule. */
const concurrency = 8
/** Milliseconds until a write that the server refused is tried again, unless rights or the target change before. */
const refusedRetry = 60_000

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
  readonly #rights: GrantWatch
  readonly #metrics: ReferenceMetrics
  /** Targets whose service account lacks a right. */
  readonly #forbidden = new Set<string>()
  /** Times of the first looks at targets that have no value yet, in milliseconds. */
  readonly #since = new Map<string, number>()
  readonly #subscriptions = new DisposableStack()

  constructor(options: RuleRunOptions) {
    const { manager, rule, fields, kinds } = options
    this.#options = options
    this.#metrics = options.metrics
    this.#rights = new GrantWatch(
      manager.informers,
      manager.clock,
      () => this.#retryForbidden(),
      () => options.onStateChange(),
    )
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
    // Before it is watched: sources that are cached already, for another rule or the spec before, are reported at once.
    this.#source = this.#watch(this.#subscriptions.use(manager.use(kinds.source)))
    this.loop.watch(kinds.source, (object) => this.#dependentsOf(keyOf(object)))
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
    if (unknown.some(({ state }) => state === 'Forbidden'))
      problems.push('`fairlead refs rbac -f RULES.yaml` prints the ClusterRole that allows it')
    const { problem } = this.#rights
    return {
      targets: this.#targets,
      problems,
      isListed: unknown.every(({ state }) => state !== 'Syncing'),
      ...(problem === undefined ? {} : { unseenRights: problem }),
    }
  }

  /** Looks again at targets whose field another manager has: it may have been that of the rule that was deleted. */
  ruleDeleted(): void {
    for (const [key, { reason }] of this.#targets)
      if (reason === 'ReferenceIgnored' || reason === 'FieldConflict') this.loop.add(key)
  }

  /** Stops the run; values that were set stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscriptions.dispose()
    this.#rights[Symbol.dispose]()
    await this.loop.stop()
    for (const target of this.#targets.keys()) this.#setEdges(this.#idOfTarget(parseKey(target)), [])
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
    const woken = this.#index.changed(this.#idOfSource(key), lookUp(this.#source, key)).map(formatKey)
    this.#metrics.woken(this.#options.kinds.target.kind, woken.length)
    return woken
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
      this.#setEdges(id, [])
      return this.#report(key, undefined)
    }
    const edges = edgesOf(id, rootOf(target, fields), [fields.row])
    this.#setEdges(id, edges)
    for (const { to } of edges) {
      const denied = await this.#denied(id, to)
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
  async #denied(id: ObjectId, source: ObjectId): Promise<TargetState | undefined> {
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
    plan: Exclude<FieldPlan, { readonly do: 'keep' }>,
    { signal }: WorkContext,
  ): Promise<Result> {
    const { manager, fields, kinds } = this.#options
    const { apiVersion, kind, metadata } = target
    const { namespace = '', name, uid, resourceVersion } = metadata
    const identity = { apiVersion, kind, metadata: { namespace, name, uid } } as unknown as JsonObject
    const takesOver = plan.former.length > 0
    // No other client has the field at this version of the target: no value of a user is overwritten.
    const seen = takesOver ? withValue(identity, 'metadata.resourceVersion', resourceVersion) : identity
    const body = plan.do === 'set' ? withValue(seen, fields.row.fieldPath, plan.value) : seen
    // By impersonation, which is the right that the rules declare; `manager.as` would request tokens from a cluster.
    const { user } = serviceAccountSubject(this.#account(namespace))
    const client = manager.client.as({ user })
    const apply = (object: JsonObject, as: string, force: boolean): Promise<unknown> =>
      client.with({ manager: as }).apply(object as unknown as KubeObject, { force, signal })
    const remove = plan.do === 'withdraw' ? plan.remove : undefined
    try {
      if (remove !== undefined) {
        // Of this version of the target: no other client has the field.
        const seenMetadata = { metadata: { uid, resourceVersion } } as unknown as JsonObject
        const merge = withValue(seenMetadata, remove, null)
        await client.with({ manager: fields.manager }).patch(kinds.target, keyOf(target), { merge }, { signal })
        return this.#report(key, undefined)
      }
      await apply(body, fields.manager, takesOver)
      for (const former of plan.former) await apply(identity, former, false)
    } catch (error) {
      if ((takesOver || remove !== undefined) && isConflict(error)) throw error
      if (isForbidden(error)) {
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

  #setEdges(id: ObjectId, edges: readonly Edge[]): void {
    const before = this.#index.referencesOf(id).length
    this.#index.set(id, edges)
    this.#metrics.edges(id.kind, edges.length - before)
  }

  #report(key: string, state: TargetState | undefined): undefined {
    const before = this.#targets.get(key)
    if (before?.state === state?.state && before?.message === state?.message && before?.reason === state?.reason)
      return undefined
    this.#count(key, before, state)
    if (state === undefined) this.#targets.delete(key)
    else this.#targets.set(key, state)
    if (state?.reason === 'Forbidden') this.#forbidden.add(key)
    else this.#forbidden.delete(key)
    if (this.#forbidden.size > 0) this.#rights.watch()
    else this.#rights.release()
    this.#options.onStateChange()
    return undefined
  }

  #count(key: string, before: TargetState | undefined, state: TargetState | undefined): void {
    const { kind } = this.#options.kinds.target
    const now = this.#options.manager.clock.monotonic()
    if (state !== undefined && state.reason !== before?.reason) this.#metrics.resolution(kind, state.reason)
    const since = this.#since.get(key) ?? now
    if (state?.state === 'resolved' && before?.state !== 'resolved') this.#metrics.waited(kind, now - since)
    if (state === undefined || state.state === 'resolved') this.#since.delete(key)
    else this.#since.set(key, since)
  }

  #retryForbidden(): void {
    for (const key of this.#forbidden) this.loop.add(key)
  }
}

function failureOf(error: unknown): TargetState {
  const message = error instanceof Error ? error.message : String(error)
  if (isForbidden(error)) return { state: 'failing', reason: 'Forbidden', message }
  if (isConflict(error)) return { state: 'failing', reason: 'FieldConflict', message }
  if (isInvalid(error)) return { state: 'failing', reason: 'Invalid', message }
  return { state: 'failing', reason: 'WriteFailed', message }
}
