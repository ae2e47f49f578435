// The 403 for a request that the authorizer denies, in the words of the API server.
import { forbidden, goQuote } from '@fairlead/kube'
import type { StatusError } from '@fairlead/kube'
import type { Attributes } from '../identity/authorizer.ts'

/**
 * Describes a denied request: `User "alice" cannot list resource "pods" in API group "" in the namespace "default"`.
 */
export function describeAttempt(attributes: Attributes): string {
  const subject = `User ${goQuote(attributes.user.name)} cannot ${attributes.verb}`
  if (attributes.resource === undefined) return `${subject} path ${goQuote(attributes.path ?? '')}`
  const { resource, subresource = '', group = '', namespace = '' } = attributes
  const object = `resource ${goQuote(subresource === '' ? resource : `${resource}/${subresource}`)} in API group ${goQuote(group)}`
  return `${subject} ${object} ${namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(namespace)}`}`
}

/** Returns the 403 for a request; `reason` is the authorizer's, often empty. */
export function forbiddenRequest(attributes: Attributes, reason: string): StatusError {
  const attempt = escapeHtml(describeAttempt(attributes))
  const detail = reason === '' ? attempt : `${attempt}: ${reason}`
  return forbidden({ group: attributes.group ?? '', plural: attributes.resource ?? '' }, attributes.name ?? '', detail)
}

/** Escapes the values of the request, as the API server does: a browser may show the response. */
function escapeHtml(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
