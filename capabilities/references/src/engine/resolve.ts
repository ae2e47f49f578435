// Resolution of all references of one object (originals/ack.md §6.4). The given spec is never changed: what goes to
// the cloud, or into the target's field, is a copy.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonArray } from '@fairlead/kube'
import { gate } from './gate.ts'
import type { GateReason } from './gate.ts'
import { formatId, idKey } from './object-id.ts'
import type { ObjectId } from './object-id.ts'
import { SpecDraft, occurrencesOf } from './occurrences.ts'
import type { Occurrence } from './occurrences.ts'
import { identifierHint, parseReference } from './reference.ts'
import type { ReferenceRow } from './reference-table.ts'
import type { Referents } from './referents.ts'
import type { ResolvedReference } from './resolved-reference.ts'

/** Reasons why a reference is not resolved, in the order of their weight: the first that occurs is the condition's. */
export const problemReasons = [
  'InvalidReference',
  'BothSet',
  'NeitherSet',
  'CrossNamespaceDenied',
  'ReferenceCycle',
  'ReferentTerminal',
  'ReferentKindUnavailable',
  'ReferentNotFound',
  'ReferentDeleting',
  'ReferentNotReady',
  'ValueMissing',
] as const

/** One of {@link problemReasons}. */
export type ProblemReason = (typeof problemReasons)[number]

/** One reference that is not resolved. */
export interface Problem {
  readonly path: string
  readonly reason: ProblemReason
  readonly message: string
}

/** Something a user should know although everything is resolved. */
export interface Advisory {
  readonly reason: 'ReferenceIgnored' | 'CrossNamespaceOptInRequired'
  readonly message: string
}

/** Object whose references are resolved. */
export interface Dependent {
  readonly id: ObjectId
  readonly spec: JsonObject
  /** `status.resolvedReferences` of the last reconcile. */
  readonly stored: readonly ResolvedReference[]
  /** Set when what the object describes exists already: then a value that cannot be read now stays the last one. */
  readonly exists: boolean
}

/** Outcome of a resolution. */
export interface Resolution {
  /** The spec with all values in place; undefined while a value is missing: then nothing may be sent. */
  readonly spec: JsonObject | undefined
  /** Set when the object has references at all, taken or ignored. */
  readonly hasReferences: boolean
  /** Every reference with its value or its state, for `status.resolvedReferences`. */
  readonly references: readonly ResolvedReference[]
  readonly problems: readonly Problem[]
  readonly advisories: readonly Advisory[]
  /** Paths left out of the spec until a cycle of references that wait for values has made them. */
  readonly deferred: readonly string[]
}

type Taken =
  | { readonly take: 'nothing' }
  | {
      readonly take: 'value'
      readonly value: JsonValue
      readonly references: readonly ResolvedReference[]
      readonly problem?: Problem
    }
  | { readonly take: 'later'; readonly references: readonly ResolvedReference[] }
  | { readonly take: 'none'; readonly problems: readonly Problem[]; readonly references: readonly ResolvedReference[] }

type One =
  | { readonly value: JsonValue; readonly reference?: ResolvedReference; readonly problem?: Problem }
  | { readonly later: ResolvedReference }
  | { readonly problem: Problem; readonly reference?: ResolvedReference }

/** Reasons that end with the referent: an object that exists keeps the last value meanwhile. */
const passing: readonly ProblemReason[] = [
  'ReferentTerminal',
  'ReferentKindUnavailable',
  'ReferentNotFound',
  'ReferentDeleting',
  'ReferentNotReady',
  'ValueMissing',
] satisfies readonly GateReason[]

/** Objects that a message names; the rest is counted: each object of a cycle has the message in its status. */
const namedObjects = 10

function namesOf(objects: readonly ObjectId[]): string {
  const names = objects.slice(0, namedObjects).map(formatId).join(', ')
  return objects.length > namedObjects ? `${names} and ${objects.length - namedObjects} more` : names
}

class Resolver {
  readonly #dependent: Dependent
  readonly #referents: Referents
  #stored: ReadonlyMap<string, readonly ResolvedReference[]> | undefined
  readonly advisories: Advisory[] = []

  constructor(dependent: Dependent, referents: Referents) {
    this.#dependent = dependent
    this.#referents = referents
  }

  take(occurrence: Occurrence): Taken {
    const { row, path, plain, reference } = occurrence
    const refPath = row.refName ?? occurrence.refPath
    if (reference === undefined) {
      if (plain !== undefined || !row.required) return { take: 'nothing' }
      return refused(path, 'NeitherSet', `one of ${path} and ${refPath} must be set`)
    }
    if (plain !== undefined) {
      if (row.bothSet === 'reject') return refused(path, 'BothSet', `${path} and ${refPath} must not both be set`)
      this.advisories.push({ reason: 'ReferenceIgnored', message: `${refPath} is ignored: ${path} is set` })
      return { take: 'nothing' }
    }
    if (!row.list) return asTaken([this.#one(row, path, refPath, reference)], false)
    if (!isJsonArray(reference)) return refused(path, 'InvalidReference', `${refPath} must be a list of references`)
    return asTaken(
      reference.map((item, index) => this.#one(row, `${path}[${index}]`, `${refPath}[${index}]`, item)),
      true,
    )
  }

  #one(row: ReferenceRow, path: string, refPath: string, value: JsonValue): One {
    const { id } = this.#dependent
    const parsed = parseReference(value, row, id.namespace)
    if (parsed.form === 'invalid')
      return { problem: { path, reason: 'InvalidReference', message: `${refPath}: ${parsed.message}` } }
    if (parsed.form === 'external') return { value: formatted(row, parsed.value) }
    const { kind, namespace, name } = parsed
    const referent: ObjectId = { group: kind.group, kind: kind.kind, namespace, name }
    const problem = (reason: ProblemReason, message: string): Problem => ({
      path,
      reason,
      message: `${refPath}: ${formatId(referent)} ${message}`,
    })
    const pending = (reason: ProblemReason, uid?: string): ResolvedReference => ({
      path,
      referent,
      ...(uid === undefined ? {} : { uid }),
      state: reason,
    })
    const denied = this.#denied(referent)
    if (denied !== undefined)
      return { problem: problem(denied.reason, denied.message), reference: pending(denied.reason) }
    const cycle = this.#referents.cycle(id, referent)
    const cyclic = (): One => {
      return {
        problem: problem(
          'ReferenceCycle',
          `is in a cycle of references that wait for each other: ${namesOf(cycle?.objects ?? [])}`,
        ),
        reference: pending('ReferenceCycle'),
      }
    }
    if (cycle?.waitFor === 'Synced') return cyclic()
    const view = { valuePath: kind.valuePath, waitFor: row.waitFor }
    const result = gate(this.#referents.read(kind, namespace, name), view)
    if (result.state === 'ready') {
      const made = formatted(row, result.value)
      const { uid, generation } = result
      return { value: made, reference: { path, value: made, referent, uid, generation, state: 'Resolved' } }
    }
    const message = result.message + (result.state === 'ReferentNotFound' ? identifierHint(name) : '')
    const kept = this.#kept(path, referent, result.state)
    if (kept !== undefined)
      return {
        value: kept.value as JsonValue,
        reference: { ...kept, state: result.state },
        problem: problem(result.state, message),
      }
    if (cycle?.waitFor === 'mixed') return cyclic()
    if (cycle?.waitFor === 'Value' && !row.required) return { later: pending(result.state, result.uid) }
    return { problem: problem(result.state, message), reference: pending(result.state, result.uid) }
  }

  #denied(referent: ObjectId): Pick<Problem, 'reason' | 'message'> | undefined {
    const { id } = this.#dependent
    // A cluster-scoped object has no namespace that could hold a grant: the right to read it decides.
    if (referent.namespace === id.namespace || referent.namespace === '') return undefined
    const permission = this.#referents.permission(id, referent)
    if (permission === 'unknown')
      return {
        reason: 'ReferentKindUnavailable',
        message: 'is in another namespace, and its ReferenceGrants cannot be read now',
      }
    if (permission === 'granted') return undefined
    if (permission === 'open') {
      this.advisories.push({
        reason: 'CrossNamespaceOptInRequired',
        message: `${formatId(referent)} is in another namespace; a ReferenceGrant there keeps the reference valid`,
      })
      return undefined
    }
    return {
      reason: 'CrossNamespaceDenied',
      message: `is in another namespace; a ReferenceGrant in ${referent.namespace} allows it`,
    }
  }

  /** Returns the last value of a reference that still names the same object. */
  #kept(path: string, referent: ObjectId, reason: ProblemReason): ResolvedReference | undefined {
    if (!this.#dependent.exists || !passing.includes(reason)) return undefined
    this.#stored ??= Map.groupBy(this.#dependent.stored, (one) => one.path)
    return this.#stored.get(path)?.find((one) => one.value !== undefined && idKey(one.referent) === idKey(referent))
  }
}

function refused(path: string, reason: ProblemReason, message: string): Taken {
  return { take: 'none', problems: [{ path, reason, message }], references: [] }
}

function formatted(row: ReferenceRow, value: string | number | boolean): JsonValue {
  return row.format === undefined ? value : row.format.replaceAll('{value}', () => String(value))
}

function asTaken(ones: readonly One[], list: boolean): Taken {
  const references = ones.flatMap((one) =>
    'later' in one ? [one.later] : one.reference === undefined ? [] : [one.reference],
  )
  const problems = ones.flatMap((one) => ('problem' in one && one.problem !== undefined ? [one.problem] : []))
  if (ones.some((one) => !('value' in one) && !('later' in one))) return { take: 'none', problems, references }
  // A list is complete or absent: a part of it would be another list.
  if (ones.some((one) => 'later' in one)) return { take: 'later', references }
  const values = ones.flatMap((one) => ('value' in one ? [one.value] : []))
  const [problem] = problems
  const value = list ? values : (values[0] as JsonValue)
  return { take: 'value', value, references, ...(problem === undefined ? {} : { problem }) }
}

/**
 * Resolves every reference of an object. All problems are reported, not only the first. Throws nothing: what users
 * write wrongly is a problem of the outcome.
 */
export function resolveReferences(
  dependent: Dependent,
  rows: readonly ReferenceRow[],
  referents: Referents,
): Resolution {
  const resolver = new Resolver(dependent, referents)
  const references: ResolvedReference[] = []
  const problems: Problem[] = []
  const deferred: string[] = []
  const draft = new SpecDraft(dependent.spec)
  let complete = true
  let hasReferences = false
  for (const occurrence of rows.flatMap((row) => occurrencesOf(row, dependent.spec))) {
    if (occurrence.reference !== undefined) hasReferences = true
    const taken = resolver.take(occurrence)
    if (taken.take === 'nothing') continue
    references.push(...taken.references)
    if (taken.take === 'later') deferred.push(occurrence.path)
    else if (taken.take === 'none') {
      problems.push(...taken.problems)
      complete = false
    } else {
      if (taken.problem !== undefined) problems.push(taken.problem)
      draft.put(occurrence.path, taken.value)
    }
  }
  return {
    spec: complete ? draft.spec : undefined,
    hasReferences,
    references,
    problems,
    advisories: resolver.advisories,
    deferred,
  }
}
