// The cloud of a case: resources of any kind by kind and key, with a log of calls. It answers at once, but for what a
// case says: how long a role cannot be assumed, how long an endpoint is being created.
import { AwsError } from '@fairlead/aws'
import type { Observed, ResourceManager } from '@fairlead/aws'
import type { JsonObject } from '@fairlead/kube'
import { arnOf } from './case-objects.ts'

/** One call. */
export interface CloudCall {
  readonly name: string
  /** The spec that was handed over. */
  readonly spec: JsonObject
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly isWrite: boolean
  readonly error?: string
}

/** Times of a case's cloud, in milliseconds. */
export interface CloudTimes {
  readonly roleUsableAfterMs?: number
  readonly endpointCreatingMs?: number
}

interface Resource {
  readonly spec: JsonObject
  readonly status: JsonObject
  readonly arn: string
  readonly tags: Readonly<Record<string, string>>
  readonly createdAt: number
}

const keyFields = (kind: string): readonly string[] => [
  `${kind[0]!.toLowerCase()}${kind.slice(1)}Name`,
  `${kind.toLowerCase()}Name`,
  'name',
]

function nameOf(kind: string, spec: JsonObject): string {
  const field = keyFields(kind).find((one) => typeof spec[one] === 'string')
  return field === undefined ? JSON.stringify(spec) : (spec[field] as string)
}

/** The resources of a case. */
export class CaseCloud {
  readonly calls: CloudCall[] = []
  /** Deletions of what something else still used. */
  violations = 0
  readonly #resources = new Map<string, Resource>()
  readonly #now: () => number
  readonly #times: CloudTimes
  #made = 0

  constructor(now: () => number, times: CloudTimes = {}) {
    this.#now = now
    this.#times = times
  }

  /** Puts a resource in place that was there before the case. */
  place(kind: string, spec: JsonObject, status: JsonObject, arn: string): void {
    this.#resources.set(`${kind}/${nameOf(kind, spec)}`, { spec, status, arn, tags: {}, createdAt: 0 })
  }

  /** Returns the calls for one kind. */
  manager(kind: string): ResourceManager {
    const key = (spec: JsonObject): string => `${kind}/${nameOf(kind, spec)}`
    const call = <T>(verb: string, spec: JsonObject, isWrite: boolean, run: () => T): Promise<T> => {
      const entry = { name: `${verb}${kind}`, spec, at: this.#now(), isWrite }
      try {
        const result = run()
        this.calls.push(entry)
        return Promise.resolve(result)
      } catch (error) {
        if (error instanceof AwsError) this.calls.push({ ...entry, error: error.code })
        return Promise.reject(error as Error)
      }
    }
    return {
      read: (spec) =>
        call('Describe', spec, false, () => {
          const found = this.#resources.get(key(spec))
          return found === undefined ? undefined : this.#observed(kind, found)
        }),
      tags: ({ spec }) => call('ListTags', spec, false, () => this.#resources.get(key(spec))?.tags ?? {}),
      tag: ({ spec }, { set, remove }) =>
        call('Tag', spec, true, () => {
          const resource = this.#existing(kind, spec)
          const kept = Object.entries(resource.tags).filter(([name]) => !remove.includes(name))
          this.#resources.set(key(spec), { ...resource, tags: { ...Object.fromEntries(kept), ...set } })
        }),
      create: (spec, tags) =>
        call('Create', spec, true, () => {
          this.#checkUses(kind, spec)
          if (this.#resources.has(key(spec)))
            throw new AwsError('ValidationException', `Cannot create already existing ${kind}`, { status: 400 })
          const name = nameOf(kind, spec)
          const arn = arnOf({ kind, name })
          const id = `${kind[0]!.toLowerCase()}-${++this.#made}`
          const status = { [`${kind[0]!.toLowerCase()}${kind.slice(1)}ID`]: id }
          const made = { spec, status, arn, tags, createdAt: this.#now() }
          this.#resources.set(key(spec), made)
          return this.#observed(kind, made)
        }),
      update: ({ spec }) =>
        call('Update', spec, true, () => {
          this.#checkUses(kind, spec)
          const changed = { ...this.#existing(kind, spec), spec }
          this.#resources.set(key(spec), changed)
          return this.#observed(kind, changed)
        }),
      delete: (spec) =>
        call('Delete', spec, true, () => {
          const { spec: own, arn } = this.#existing(kind, spec)
          this.#resources.delete(key(spec))
          const names = [arn, nameOf(kind, own)]
          for (const other of this.#resources.values())
            if (names.some((name) => JSON.stringify(other.spec).includes(JSON.stringify(name)))) this.violations++
        }),
    }
  }

  #existing(kind: string, spec: JsonObject): Resource {
    const found = this.#resources.get(`${kind}/${nameOf(kind, spec)}`)
    if (found !== undefined) return found
    throw new AwsError('ValidationException', `Could not find ${kind} ${nameOf(kind, spec)}`, { status: 400 })
  }

  #observed(kind: string, { spec, status, arn, createdAt }: Resource): Observed {
    const isCreating = this.#now() < createdAt + (this.#times.endpointCreatingMs ?? 0)
    const state: JsonObject = kind === 'Endpoint' ? { endpointStatus: isCreating ? 'Creating' : 'InService' } : {}
    return { spec, status: { ...status, ...state }, arn }
  }

  #checkUses(kind: string, spec: JsonObject): void {
    if (kind !== 'Model') return
    const role = [...this.#resources].find(([, { arn }]) => arn === spec['executionRoleARN'])?.[1]
    if (role === undefined || this.#now() >= role.createdAt + (this.#times.roleUsableAfterMs ?? 0)) return
    throw new AwsError('ValidationException', `Could not assume role ${role.arn}`, { status: 400 })
  }
}
