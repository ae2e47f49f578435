// The simulator: a controller per kind that sets the status of objects by rules, so that examples and tests work
// without a kubelet or a cloud.
import { kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { after, terminal } from '@fairlead/controller'
import type { Controller, Manager, ReconcileContext, Result } from '@fairlead/controller'
import { applyMergePatch, asJson, formatKey, formatTime, jsonEqual, keyOf, setCondition } from '@fairlead/kube'
import type { Condition, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { CelError } from '@fairlead/kube/cel'
import type { CelProgram } from '@fairlead/kube/cel'
import type { Rule } from './rule.ts'

/** Objects of a kind that are reconciled at a time. */
const concurrency = 8
/** Limit of changes of one object at one time; more means that rules undo each other. */
const mostChanges = 20

/** Sets status by rules. `new Simulator(parseRules(text)).setup(manager)`. */
export class Simulator {
  readonly rules: readonly Rule[]
  /** When objects first matched a rule, by key and uid. Milliseconds. */
  readonly #since = new Map<Rule, Map<string, number>>()
  readonly #subresource = new Map<string, 'status' | undefined>()

  /** Creates a simulator; it changes nothing until it is set up. */
  constructor(rules: readonly Rule[]) {
    this.rules = rules
    for (const rule of rules) this.#since.set(rule, new Map())
  }

  /** Starts a controller for each kind that the rules name. */
  setup(manager: Manager): readonly Controller[] {
    const kinds = new Map<string, { readonly apiVersion: string; readonly kind: string; readonly rules: Rule[] }>()
    for (const rule of this.rules) {
      const id = `${rule.apiVersion}/${rule.kind}`
      const known = kinds.get(id)
      if (known === undefined) kinds.set(id, { apiVersion: rule.apiVersion, kind: rule.kind, rules: [rule] })
      else known.rules.push(rule)
    }
    return [...kinds.values()].map((of) =>
      manager
        .controller(`simulator-${of.kind.toLowerCase()}.${of.apiVersion}`)
        .for(kind(of.apiVersion, of.kind))
        .withOptions({ concurrency, keepReady: false, manager: 'fairlead-simulator' })
        .onDeleted(({ key }) => this.#forget(formatKey(key)))
        .reconcile((context) => this.#applyRules(of.rules, context)),
    )
  }

  /**
   * Applies the rules that are due, each to the result of the one before, until none is due; requeues for the next.
   */
  async #applyRules(rules: readonly Rule[], context: ReconcileContext<KubeObject>): Promise<Result> {
    let object = context.object
    // Rules whose status the server stores in another form, such as without a count of zero or an empty message.
    const stored = new Set<Rule>()
    for (let changes = 0; changes <= mostChanges; changes++) {
      const waits = rules.map((rule) => (stored.has(rule) ? undefined : this.#wait(rule, object, context.clock.now())))
      const due = rules.find((_rule, index) => waits[index] === 0)
      if (due === undefined) {
        const next = Math.min(...waits.map((wait) => wait ?? Infinity))
        return next === Infinity ? undefined : after(next)
      }
      const changed = await this.#change(due, object, context)
      if (changed.metadata.resourceVersion === object.metadata.resourceVersion) stored.add(due)
      object = changed
    }
    const names = rules.filter((rule) => fits(rule, object)).map((rule) => `"${rule.name}"`)
    throw terminal(`The rules ${names.join(', ')} undo each other; give them guards (when) that exclude each other`, {
      reason: 'RulesFlap',
    })
  }

  /**
   * Returns milliseconds until the rule is due; undefined when it does not match the object, or would change nothing.
   */
  #wait(rule: Rule, object: KubeObject, now: number): number | undefined {
    const fitting = this.#since.get(rule)!
    const id = identityOf(object)
    if (!fits(rule, object) || !changes(rule, object, now)) {
      fitting.delete(id)
      return undefined
    }
    const since = fitting.get(id) ?? now
    fitting.set(id, since)
    return Math.max(0, since + rule.delay - now)
  }

  async #change(
    rule: Rule,
    object: KubeObject,
    { client, clock, log }: ReconcileContext<KubeObject>,
  ): Promise<KubeObject> {
    this.#since.get(rule)!.delete(identityOf(object))
    const status = statusFor(rule, object, clock.now(), false)
    const { uid, resourceVersion } = object.metadata
    const merge = asJson({ metadata: { uid, resourceVersion }, status: patchBetween(statusOf(object), status) })
    const subresource = await this.#subresourceOf(client, object)
    const changed = await client.patch(kind(object.apiVersion, object.kind), keyOf(object), { merge }, { subresource })
    log.debug('Set status', { rule: rule.name })
    return changed
  }

  /** Returns the subresource of the status; most kinds have one, not all. */
  async #subresourceOf(client: Client, object: KubeObject): Promise<'status' | undefined> {
    const id = `${object.apiVersion}/${object.kind}`
    if (!this.#subresource.has(id)) {
      const { subresources } = await client.discovery.describe(object)
      this.#subresource.set(id, subresources.includes('status') ? 'status' : undefined)
    }
    return this.#subresource.get(id)
  }

  #forget(key: string): void {
    for (const fitting of this.#since.values())
      for (const id of fitting.keys()) if (id.startsWith(`${key}|`)) fitting.delete(id)
  }
}

function fits(rule: Rule, object: KubeObject): boolean {
  const { namespace, labels = {}, deletionTimestamp } = object.metadata
  if (deletionTimestamp !== undefined || (rule.namespace !== undefined && rule.namespace !== namespace)) return false
  return rule.selector.matches(labels) && (rule.when === undefined || holds(rule.when, object))
}

/** Evaluates a guard; it is false where it reads status that does not exist yet. */
function holds(guard: CelProgram, object: KubeObject): boolean {
  try {
    return guard.evaluate({ self: asJson(object) }) === true
  } catch (error) {
    if (error instanceof CelError) return false
    throw error
  }
}

/** Reports whether a rule would change the status, times aside. */
function changes(rule: Rule, object: KubeObject, now: number): boolean {
  return !jsonEqual(statusFor(rule, object, now, true), statusOf(object))
}

/** Returns the status after the rule. With `keepTimes`, existing times are kept. */
function statusFor(rule: Rule, object: KubeObject, now: number, keepTimes: boolean): JsonObject {
  const before = statusOf(object)
  const values = { object: asJson(object), now: formatTime(now) }
  const merged =
    rule.status === undefined
      ? before
      : (applyMergePatch(before, rule.status(values, keepTimes ? before : undefined)) as JsonObject)
  if (rule.conditions.length === 0) return merged
  let conditions = merged.conditions as readonly Condition[] | undefined
  for (const { type, status, reason, message } of rule.conditions) {
    const text = message(values)
    conditions = setCondition(
      conditions,
      { type, status, reason, message: typeof text === 'string' ? text : JSON.stringify(text) },
      now,
    )
  }
  return { ...merged, conditions: conditions as JsonValue }
}

function statusOf(object: KubeObject): JsonObject {
  return (object.status ?? {}) as JsonObject
}

/** Returns the merge patch from `before` to `after`; removed fields become null. */
function patchBetween(before: JsonObject, next: JsonObject): JsonObject {
  const patch: { [field: string]: JsonValue } = {}
  for (const field in before) if (!Object.hasOwn(next, field)) patch[field] = null
  for (const field in next) {
    const [old, value] = [Object.hasOwn(before, field) ? before[field] : undefined, next[field]!]
    if (old === undefined || !jsonEqual(old, value))
      patch[field] = isObject(old) && isObject(value) ? patchBetween(old, value) : value
  }
  return patch
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function identityOf(object: KubeObject): string {
  return `${formatKey(keyOf(object))}|${object.metadata.uid}`
}
