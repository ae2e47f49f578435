// Reconciles one object with its resource (originals/ack.md §3): resolve, read, create or adopt or update. Start with
// `reconcileResource`; deletion is in delete.ts.
import { isTerminating } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { formatId, referencesCondition, resolveReferences } from '@fairlead/references'
import type { Resolution } from '@fairlead/references'
import { AwsError, meaningOf } from './aws-error.ts'
import { conditionTypes, conditionsFor, presentSynced } from './conditions.ts'
import type { Finding, Findings } from './conditions.ts'
import { deleteResource } from './delete.ts'
import { deltaOf, withoutReferences } from './delta.ts'
import { creationTags, deniedHolder, isOwn, ownerOf } from './ownership.ts'
import { lacksLateFields, lateFields } from './late-initialize.ts'
import { adoptedAnnotation, policiesOf } from './policies.ts'
import type { Policies } from './policies.ts'
import type { Outcome, ReconcileInput } from './reconcile-input.ts'
import { lateReadDelay, mayAppear, pollInterval, propagationRetry, visibilityRetry } from './requeue.ts'
import { stateOf } from './resource-kind.ts'
import type { Observed } from './resource-manager.ts'
import { tagChange, tagsOf, withoutSystemTags } from './tag-delta.ts'
import { confirmedArn, lastFields, observedFields, statusOf, storedReferences } from './resource-status.ts'
import type { ResourceStatus } from './resource-status.ts'

/** Milliseconds until a resource that should be there already is looked for again. */
const absentRetry = 60_000

/** Reconciles one object. Throws what is no AwsError. */
export async function reconcileResource(input: ReconcileInput): Promise<Outcome> {
  const { kind, namespaceAnnotations = {}, object, settings } = input
  const policies = policiesOf(object, kind, namespaceAnnotations, settings.deletionPolicy)
  if (policies.invalid !== undefined) return refused(object, { reason: 'InvalidAnnotation', message: policies.invalid })
  if (isTerminating(object)) return deleteResource(input, policies)
  return new Reconcile(input, policies).run()
}

/** Returns the outcome of an object for which no call may be made: what is known of its resource stays. */
export function refused(object: KubeObject, terminal: Finding): Outcome & { readonly status: ResourceStatus } {
  const references = storedReferences(object)
  return {
    status: {
      ...lastFields(object),
      ...(references.length === 0 ? {} : { resolvedReferences: references }),
      conditions: conditionsFor({ synced: { status: 'Unknown', ...terminal }, terminal }),
    },
  }
}

class Reconcile {
  readonly #input: ReconcileInput
  readonly #policies: Policies
  #resolution: Resolution
  /** Fields of the status; those of the last one until the resource was read. */
  #fields: JsonObject
  #observed: Observed | undefined
  #late: Findings['lateInitialized']

  constructor(input: ReconcileInput, policies: Policies) {
    this.#input = input
    this.#policies = policies
    this.#fields = lastFields(input.object)
    this.#resolution = this.#resolve()
  }

  async run(): Promise<Outcome> {
    const { spec } = this.#resolution
    const isOnlyRead = this.#policies.readOnly || this.#policies.adoption === 'adopt'
    if (spec === undefined && !isOnlyRead) return this.#unresolved()
    try {
      return await this.#keep(spec)
    } catch (error) {
      if (!(error instanceof AwsError)) throw error
      return this.#failed(error)
    }
  }

  #resolve(): Resolution {
    const { id, kind, object, referents } = this.#input
    const spec = (object['spec'] ?? {}) as JsonObject
    const exists = confirmedArn(object) !== undefined
    return resolveReferences({ id, spec, stored: storedReferences(object), exists }, kind.rows, referents)
  }

  async #keep(resolved: JsonObject | undefined): Promise<Outcome> {
    const { kind, manager, now, object } = this.#input
    const { adoption, adoptionFields, readOnly } = this.#policies
    const own = this.#plain(resolved ?? ((object['spec'] ?? {}) as JsonObject))
    const spec = adoption === 'none' ? own : { ...own, ...adoptionFields }
    const observed = await manager.read(spec, statusOf(object))
    if (observed === undefined) return mayAppear(object, kind, now) ? this.#notVisible() : this.#create(spec)
    this.#saw(observed)
    if (readOnly) return (await this.#deniedRead(observed)) ?? this.#kept({})
    const refusal = await this.#takeOver(observed)
    if (refusal !== undefined) return refusal
    if (resolved === undefined) return this.#kept({})
    await this.#tag(own, observed)
    const fields = deltaOf(kind, own, observed.spec)
    return fields.length === 0 ? this.#settled(own, observed) : this.#update(own, observed, fields)
  }

  /** Changes the tags of a resource to those of the spec. */
  async #tag(spec: JsonObject, observed: Observed): Promise<void> {
    const { manager, settings } = this.#input
    const wanted = tagsOf(spec['tags'])
    if (wanted === undefined) return
    const change = tagChange(wanted, observed.tags ?? (await manager.tags(observed)), settings.tags)
    if (change !== undefined) await manager.tag(observed, change)
  }

  async #create(spec: JsonObject): Promise<Outcome> {
    const { kind, manager, object, settings, store } = this.#input
    const { adoption, readOnly } = this.#policies
    if (readOnly || adoption === 'adopt') {
      this.#fields = {}
      const message = `the ${kind.kind} does not exist in AWS`
      return this.#outcome({ synced: { status: 'False', reason: 'ResourceNotFound', message } }, absentRetry)
    }
    // A value that only the stored status still has may name a deleted resource: nothing is created from it.
    if (this.#resolution.problems.length > 0) return this.#unresolved()
    this.#fields = {}
    await store.hold()
    // What was ready before may be going away by now; from here on its deletion sees this object.
    const again = this.#resolve()
    if (again.spec === undefined || again.problems.length > 0) {
      this.#resolution = again
      await store.release()
      return this.#unresolved()
    }
    const creating = { status: 'False', reason: 'Creating', message: `the ${kind.kind} is being created` } as const
    if (this.#resolution.references.length > 0) {
      const { status } = this.#outcome({ synced: creating })
      if (status !== undefined) await store.record(status)
    }
    let created: Observed
    try {
      created = await manager.create(withoutSystemTags(spec), creationTags(object, settings.tags))
    } catch (error) {
      // A refusal says that there is no resource; after anything else there may be one.
      if (error instanceof AwsError && ['terminal', 'refused'].includes(meaningOf(error, kind))) await store.release()
      throw error
    }
    this.#saw(created)
    // What the creation does not take is added by an update.
    const missing = deltaOf(kind, spec, created.spec)
    if (missing.length > 0 && kind.updatable) return this.#update(spec, created, missing)
    return this.#afterWrite(spec)
  }

  /** Returns the outcome of an object that may not read the resource of another namespace. */
  async #deniedRead(observed: Observed): Promise<Outcome | undefined> {
    const other = await deniedHolder(this.#input, observed)
    if (other === undefined) return undefined
    this.#fields = {}
    this.#observed = undefined
    const message = `the ${this.#input.kind.kind} is that of ${formatId(other)}; a ReferenceGrant in ${other.namespace} allows to read it`
    const terminal = { reason: 'CrossNamespaceDenied', message }
    return this.#outcome({ synced: { status: 'False', ...terminal }, terminal }, absentRetry)
  }

  /** Takes an existing resource over, or returns why it is left alone. */
  async #takeOver(observed: Observed): Promise<Outcome | undefined> {
    const { finalizer, kind, manager, object, store } = this.#input
    const { adoption } = this.#policies
    const holds = object.metadata.finalizers?.includes(finalizer) === true
    if (confirmedArn(object) === undefined && adoption === 'none' && !(await isOwn(manager, observed, object))) {
      if (holds) await store.release()
      this.#fields = {}
      const message = `a ${kind.kind} of this name exists already; adopt it by the annotation services.k8s.aws/adoption-policy`
      const terminal = { reason: 'ResourceAlreadyExists', message }
      return this.#outcome({ synced: { status: 'False', ...terminal }, terminal })
    }
    const other = await ownerOf(this.#input, observed)
    if (other !== undefined) {
      if (holds) await store.release()
      this.#fields = {}
      this.#observed = undefined
      const message = `the ${kind.kind} is that of ${formatId(other)}; another object cannot have it as well`
      const terminal = { reason: 'ResourceOwnedByAnotherObject', message }
      return this.#outcome({ synced: { status: 'False', ...terminal }, terminal }, absentRetry)
    }
    if (!holds) await store.hold()
    if (adoption !== 'none' && object.metadata.annotations?.[adoptedAnnotation] !== 'true')
      await store.annotate({ [adoptedAnnotation]: 'true' })
    return undefined
  }

  async #update(spec: JsonObject, observed: Observed, fields: readonly string[]): Promise<Outcome> {
    const { kind, manager, object, store } = this.#input
    const state = stateOf(kind, observed.status)
    if (state.state === 'modifying') {
      const message = `${kind.kind} in ${state.value} state cannot be modified or deleted.`
      return this.#waiting({ status: 'False', reason: state.value, message })
    }
    if (state.state === 'failed') {
      const message = `${kind.kind} is in ${state.value} status and cannot be changed`
      return this.#kept({ synced: { status: 'False', reason: state.value, message } })
    }
    if (!kind.updatable) return this.#immutable(spec, observed, fields)
    const { annotations, ...updated } = await manager.update({
      spec,
      observed,
      fields,
      annotations: object.metadata.annotations ?? {},
    })
    if (annotations !== undefined) await store.annotate(annotations)
    this.#saw(updated)
    return this.#afterWrite(spec)
  }

  /** Returns the outcome of a resource that was written: what the service filled in, the next read shows. */
  #afterWrite(spec: JsonObject): Outcome {
    const { kind, settings } = this.#input
    const kept = this.#kept({})
    if (settings.lateInitialize !== true || !lacksLateFields(kind, spec)) return kept
    return { ...kept, requeueAfter: Math.min(kept.requeueAfter ?? lateReadDelay, lateReadDelay) }
  }

  /** Copies what the service filled in into the spec, where the settings ask for it. */
  async #settled(spec: JsonObject, observed: Observed): Promise<Outcome> {
    const { kind, settings, store } = this.#input
    if (settings.lateInitialize !== true || kind.lateInitialized.length === 0) return this.#kept({})
    if (stateOf(kind, observed.status).state === 'modifying') return this.#kept({})
    const fields = lateFields(kind, spec, observed.spec)
    const refusal = fields.size === 0 ? undefined : await store.fill(fields)
    const message = refusal ?? 'every field that the service filled in is in the spec'
    this.#late = {
      status: refusal === undefined ? 'True' : 'False',
      reason: refusal === undefined ? 'LateInitialized' : 'SpecRefused',
      message,
    }
    return this.#kept({})
  }

  /** Reports a difference that the service has no operation for. */
  #immutable(spec: JsonObject, observed: Observed, fields: readonly string[]): Outcome {
    const { kind } = this.#input
    const name = (path: string): string => path.split(/[.[]/)[0] as string
    const fromReferences = new Set(this.#resolution.references.map(({ path }) => name(path)))
    const show = (value: unknown): string => JSON.stringify(value ?? null)
    const changes = fields.map((field) => `${field} is ${show(observed.spec[field])}, wanted ${show(spec[field])}`)
    const message = `a ${kind.kind} cannot be changed: ${changes.join('; ')}; replace the object to apply it`
    const isFromReferences = fields.every((field) => fromReferences.has(field))
    const reason = isFromReferences ? 'ResolvedReferenceChanged' : 'FieldImmutable'
    if (isFromReferences) return this.#kept({ advisories: [{ reason, message }] })
    return this.#outcome({ synced: { status: 'False', reason, message }, advisories: [{ reason, message }] })
  }

  /** Returns the outcome of an object whose resource is as wanted, or is on its way there by itself. */
  #kept(found: Partial<Findings>): Outcome {
    const { kind, settings } = this.#input
    const state = stateOf(kind, this.#observed?.status ?? {})
    if (state.state === 'modifying')
      return this.#waiting({
        status: 'False',
        reason: state.value,
        message: `${kind.kind} is in ${state.value} status.`,
      })
    const terminal = state.state === 'failed' ? { reason: state.value, message: state.reason } : undefined
    const message = `the ${kind.kind} is as wanted`
    const synced = { status: 'True', reason: 'Synced', message } as const
    return this.#outcome(
      { synced, ...found, ...(terminal === undefined ? {} : { terminal }) },
      kind.resync ?? settings.resync,
    )
  }

  #waiting(synced: Findings['synced']): Outcome {
    return this.#outcome({ synced }, pollInterval(this.#input.object, this.#input.now))
  }

  /** Returns the outcome of an object whose new resource a read did not show yet: what is known of it stays. */
  #notVisible(): Outcome {
    const { kind, object } = this.#input
    const message = `the new ${kind.kind} is not seen yet`
    const synced = presentSynced(object) ?? ({ status: 'Unknown', reason: 'NotVisible', message } as const)
    return this.#outcome({ synced }, visibilityRetry)
  }

  #unresolved(): Outcome {
    const message = 'not every reference has a value'
    return this.#outcome({ synced: { status: 'Unknown', reason: 'ReferencesNotResolved', message } })
  }

  #failed(error: AwsError): Outcome {
    const { kind, object } = this.#input
    const finding: Finding = { reason: error.code, message: `${error.code}: ${error.message}` }
    const meaning = meaningOf(error, kind)
    if (meaning === 'terminal') return this.#outcome({ synced: { status: 'False', ...finding }, terminal: finding })
    // A read that failed changes nothing about what was seen of the present generation before.
    const before = meaning === 'remote' && this.#observed === undefined ? presentSynced(object) : undefined
    const synced = before ?? { status: 'Unknown', ...finding }
    if (meaning === 'propagating') return this.#outcome({ synced, recoverable: finding }, propagationRetry)
    return { ...this.#outcome({ synced, recoverable: finding }), failure: { error } }
  }

  #saw(observed: Observed): void {
    this.#observed = observed
    this.#fields = observedFields(observed, this.#input.settings.region)
  }

  #plain(spec: JsonObject): JsonObject {
    const references = new Set(this.#input.kind.rows.map(({ refPath }) => refPath))
    return withoutReferences(spec, references, '') as JsonObject
  }

  #outcome(found: Findings, requeueAfter?: number): Outcome {
    const { advisories, references } = this.#resolution
    const resolved = referencesCondition(conditionTypes.references, this.#resolution)
    const conditions = conditionsFor({
      ...found,
      ...(resolved === undefined ? {} : { references: resolved }),
      advisories: [...(found.advisories ?? []), ...advisories],
      ...(this.#late === undefined ? {} : { lateInitialized: this.#late }),
      adopted: this.#policies.adoption !== 'none' && this.#observed !== undefined,
    })
    return {
      status: {
        ...this.#fields,
        ...(references.length === 0 ? {} : { resolvedReferences: references }),
        conditions,
      },
      ...(requeueAfter === undefined ? {} : { requeueAfter }),
    }
  }
}
