// Rights of callers: a cached rules review per user and namespace for menus, a live access review for runs.
import type { Client } from '@fairlead/client'
import type { RouteUser } from '@fairlead/controller'
import type { Clock, JsonObject, KubeObject } from '@fairlead/kube'
import { apiGroup } from '../api.ts'

/** The caller of an endpoint or a command. */
export interface Caller {
  readonly user: RouteUser
  /** A client with the rights of the user and no more. */
  readonly client: Client
  /** Aborts when the caller no longer waits. */
  readonly signal?: AbortSignal
}

/** A right on objects of a namespace. */
export interface Right {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly name?: string
}

/** Returns the right to run an action. */
export function runRight(action: string): Right {
  return { verb: 'run', group: apiGroup, resource: 'actions', name: action }
}

interface Rule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** The rules of a user in a namespace. */
export class Rules {
  readonly #rules: readonly Rule[]

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
  }

  /** Reports whether a rule grants a right. */
  allow({ verb, group, resource, name }: Right): boolean {
    const has = (values: readonly string[] | undefined, value: string): boolean =>
      values?.some((one) => one === '*' || one === value) ?? false
    return this.#rules.some(
      (rule) =>
        has(rule.verbs, verb) &&
        has(rule.apiGroups, group) &&
        has(rule.resources, resource) &&
        ((rule.resourceNames?.length ?? 0) === 0 || (name !== undefined && rule.resourceNames!.includes(name))),
    )
  }
}

/** Milliseconds that rules are cached. */
const cachedFor = 10_000
/** Entries of the cache: pairs of user and namespace. */
const maxCached = 5000

/** Reviews the rights of callers, as the caller. */
export class Rights {
  readonly #clock: Clock
  readonly #cache = new Map<string, { readonly until: number; readonly rules: Promise<Rules> }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the rules of a caller in a namespace; at most 10 seconds old. */
  rules({ user, client }: Caller, namespace: string): Promise<Rules> {
    const key = JSON.stringify([user.name, user.groups, namespace])
    const now = this.#clock.monotonic()
    const cached = this.#cache.get(key)
    if (cached !== undefined && cached.until > now) return cached.rules
    if (this.#cache.size >= maxCached) this.#cache.clear()
    const rules = reviewRules(client, namespace)
    rules.catch(() => this.#cache.delete(key))
    this.#cache.set(key, { until: now + cachedFor, rules })
    return rules
  }

  /** Reports whether a caller has a right, by a live access review. */
  async check({ client }: Caller, namespace: string, { verb, group, resource, name }: Right): Promise<boolean> {
    const review = await client.create<KubeObject>({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      metadata: {},
      spec: { resourceAttributes: { namespace, verb, group, resource, ...(name === undefined ? {} : { name }) } },
    })
    return (review.status as JsonObject | undefined)?.['allowed'] === true
  }
}

async function reviewRules(client: Client, namespace: string): Promise<Rules> {
  const review = await client.create<KubeObject>({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    metadata: {},
    spec: { namespace },
  })
  return new Rules((review.status as { resourceRules?: readonly Rule[] } | undefined)?.resourceRules ?? [])
}
