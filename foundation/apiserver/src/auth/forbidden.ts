// The 403 that an authorizer's no becomes, in the words of the API server.
import { forbidden, goQuote } from '@fairlead/kube'
import type { StatusError } from '@fairlead/kube'
import type { Attributes } from '../identity/authorizer.ts'

/** What a user may not do: `User "alice" cannot list resource "pods" in API group "" in the namespace "default"`. */
export function describeAttempt(attributes: Attributes): string {
  const who = `User ${goQuote(attributes.user.name)} cannot ${attributes.verb}`
  if (attributes.resource === undefined) return `${who} path ${goQuote(attributes.path ?? '')}`
  const { resource, subresource = '', group = '', namespace = '' } = attributes
  const what = `resource ${goQuote(subresource === '' ? resource : `${resource}/${subresource}`)} in API group ${goQuote(group)}`
  return `${who} ${what} ${namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(namespace)}`}`
}

/** 403 for a request; `reason` is the authorizer's, often empty. */
export function forbiddenRequest(attributes: Attributes, reason: string): StatusError {
  const attempt = escapeHtml(describeAttempt(attributes))
  const detail = reason === '' ? attempt : `${attempt}: ${reason}`
  return forbidden({ group: attributes.group ?? '', plural: attributes.resource ?? '' }, attributes.name ?? '', detail)
}

/** Answers may end up in a browser; the API server escapes what the request itself brings. */
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
