// namespaceSelector and objectSelector of webhooks and policies. An error counts only after the rules have matched the
// request.
import { internalError, notFound, SelectorError, selectorFrom, StatusError } from '@fairlead/kube'
import type { KubeObject, LabelSelector, Selector } from '@fairlead/kube'
import { isNamespaces } from '../../objects/namespace-rules.ts'
import type { AdmissionAttributes } from '../attributes.ts'

/** Returns a namespace by its name. */
export type NamespaceReader = (name: string) => KubeObject | undefined

/** The result of a selector, or the reason why it cannot be evaluated. */
export type Selected = boolean | StatusError

/** Returns the namespace of a request; a Namespace belongs to itself, in its new state. */
export function namespaceOf(request: AdmissionAttributes, read: NamespaceReader): KubeObject | undefined {
  const { resource, subresource, operation, object, name, namespace } = request
  if (!isNamespaces(resource.definition)) return namespace === '' ? undefined : read(namespace)
  return subresource === '' && operation !== 'DELETE' ? object : read(name)
}

/** Evaluates a namespaceSelector. Cluster-scoped objects other than Namespaces are always selected. */
export function selectsNamespace(
  selector: LabelSelector | undefined,
  request: AdmissionAttributes,
  read: NamespaceReader,
): Selected {
  if (isEverything(selector)) return true
  if (request.namespace === '' && !isNamespaces(request.resource.definition)) return true
  const parsed = parse(selector!)
  if (parsed instanceof StatusError) return parsed
  const namespace = namespaceOf(request, read)
  if (namespace === undefined)
    return notFound({ group: '', plural: 'namespaces' }, request.namespace === '' ? request.name : request.namespace)
  return parsed.matches(namespace.metadata.labels ?? {})
}

/** Evaluates an objectSelector: it selects the old or the new object. */
export function selectsObject(
  selector: LabelSelector | undefined,
  { object, oldObject }: Pick<AdmissionAttributes, 'object' | 'oldObject'>,
): Selected {
  if (isEverything(selector)) return true
  const parsed = parse(selector!)
  if (parsed instanceof StatusError) return parsed
  return [object, oldObject].some((state) => state !== undefined && parsed.matches(state.metadata.labels ?? {}))
}

function isEverything(selector: LabelSelector | undefined): boolean {
  return (
    selector === undefined ||
    (Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0)
  )
}

function parse(selector: LabelSelector): Selector | StatusError {
  try {
    return selectorFrom(selector)
  } catch (error) {
    if (error instanceof SelectorError) return internalError(error.message)
    throw error
  }
}
