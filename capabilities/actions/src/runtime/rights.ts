// What a caller may do: one rules review per user and namespace for what is shown, a live review for what is done.
import type { Client } from '@fairlead/client'
import type { RouteUser } from '@fairlead/controller'
import type { Clock, JsonObject, KubeObject } from '@fairlead/kube'
import { apiGroup } from '../api.ts'

/** Who asks, with a client that has the rights of that one. */
export interface Caller {
  readonly user: RouteUser
  /** Has the rights of the user and no more. */
  readonly client: Client
}

/** A right on objects of a namespace. */
export interface Right {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly name?: string
}

/** The right to run an action. */
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

  /** Whether a rule grants a right. */
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

/** Milliseconds that rules are remembered. */
const rememberedFor = 10_000
/** Users and namespaces remembered. */
const maxRemembered = 5000

/** Asks the server as the caller. */
export class Rights {
  readonly #clock: Clock
  readonly #known = new Map<string, { readonly until: number; readonly rules: Promise<Rules> }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The rules of a caller in a namespace, as they were at most 10 seconds ago. */
  rules({ user, client }: Caller, namespace: string): Promise<Rules> {
    const key = JSON.stringify([user.name, user.groups, namespace])
    const now = this.#clock.monotonic()
    const known = this.#known.get(key)
    if (known !== undefined && known.until > now) return known.rules
    if (this.#known.size >= maxRemembered) this.#known.clear()
    const rules = review(client, namespace)
    rules.catch(() => this.#known.delete(key))
    this.#known.set(key, { until: now + rememberedFor, rules })
    return rules
  }

  /** Whether a caller has a right now. */
  async check({ client }: Caller, namespace: string, { verb, group, resource, name }: Right): Promise<boolean> {
    const answer = await client.create<KubeObject>({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      metadata: {},
      spec: { resourceAttributes: { namespace, verb, group, resource, ...(name === undefined ? {} : { name }) } },
    })
    return (answer.status as JsonObject | undefined)?.['allowed'] === true
  }
}

async function review(client: Client, namespace: string): Promise<Rules> {
  const answer = await client.create<KubeObject>({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    metadata: {},
    spec: { namespace },
  })
  return new Rules((answer.status as { resourceRules?: readonly Rule[] } | undefined)?.resourceRules ?? [])
}
