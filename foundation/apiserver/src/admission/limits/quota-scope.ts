// The scopes of ResourceQuotas: the requirements that an object must meet to be counted.
import type { KubeObject } from '@fairlead/kube'

/** A requirement of a quota's scope. */
export interface ScopeRequirement {
  readonly scopeName: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** The fields of a ResourceQuota. */
export type ResourceQuota = KubeObject & {
  readonly spec?: {
    readonly hard?: Readonly<Record<string, string>>
    readonly scopes?: readonly string[]
    readonly scopeSelector?: { readonly matchExpressions?: readonly ScopeRequirement[] }
  }
  readonly status?: {
    readonly hard?: Readonly<Record<string, string>>
    readonly used?: Readonly<Record<string, string>>
  }
}

/** Returns all requirements of a quota; an object must meet each of them. */
export function scopeRequirements({ spec }: ResourceQuota): readonly ScopeRequirement[] {
  return [
    ...(spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(spec?.scopeSelector?.matchExpressions ?? []),
  ]
}

/** Returns true when a value, or its absence, meets a requirement. */
export function matchesValues({ operator, values = [] }: ScopeRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'In':
      return value !== undefined && values.includes(value)
    default:
      return value === undefined || !values.includes(value)
  }
}
