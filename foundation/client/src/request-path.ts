// URLs of resources and queries of lists.
import { selectorFrom } from '@fairlead/kube'
import type { ObjectKey } from '@fairlead/kube'
import { ClientError } from './client-error.ts'
import type { ResourcePath } from './discovery.ts'
import type { Scope } from './options.ts'

/** `/apis/apps/v1/namespaces/default/deployments`; without a namespace the collection over all of them. */
export function collectionPath(resource: ResourcePath, namespace: string | undefined): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const scope = resource.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}${scope}/${resource.plural}`
}

/** The path of one object, or of a subresource of it. Throws ClientError `InvalidRequest` without a name. */
export function objectPath(resource: ResourcePath, key: ObjectKey, subresource?: string): string {
  if (key.name === '') throw new ClientError('InvalidRequest', `A name is needed to address one ${resource.kind}`)
  const path = `${collectionPath(resource, key.namespace)}/${encodeURIComponent(key.name)}`
  return subresource === undefined ? path : `${path}/${subresource}`
}

/** Returns the query parameters of a scope. Throws SelectorError for an invalid label selector. */
export function scopeQuery(scope: Scope): { labelSelector?: string; fieldSelector?: string } {
  const labels = formatLabelSelector(scope.labelSelector)
  return {
    ...(labels === '' ? {} : { labelSelector: labels }),
    ...(scope.fieldSelector ? { fieldSelector: scope.fieldSelector } : {}),
  }
}

/**
 * Returns a label selector in query form; '' selects everything. Throws ClientError `InvalidRequest` for a selector
 * that selects nothing.
 */
export function formatLabelSelector(selector: Scope['labelSelector']): string {
  if (selector === undefined) return ''
  if (typeof selector === 'string') return selector
  const parsed = 'matches' in selector ? selector : selectorFrom(selector)
  const text = parsed.toString()
  // As a query, a selector that selects nothing would select everything.
  if (text === '' && !parsed.isEmpty)
    throw new ClientError('InvalidRequest', 'A selector that selects nothing cannot be sent; send no request instead')
  return text
}
