// Components of Applications (app.k8s.io; originals/kappnav.md §4).
import { isJsonArray, isJsonObject, ownValue, selectorFrom } from '@fairlead/kube'
import type { KubeObject, LabelSelector } from '@fairlead/kube'

/** The Application kind of SIG Apps. */
export const applicationApi = { apiVersion: 'app.k8s.io/v1beta1', kind: 'Application' } as const
/** Annotation with further namespaces of components, separated by commas. */
export const componentNamespacesAnnotation = 'kappnav.component.namespaces'
/** Annotation that hides an Application from lists. */
export const hiddenAnnotation = 'kappnav.application.hidden'

/** A kind of components, in any version. */
export interface ComponentKind {
  readonly group: string
  readonly kind: string
}

/** Reports whether an object is an Application, of any version. */
export function isApplication({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  return kind === applicationApi.kind && apiVersion.startsWith('app.k8s.io/')
}

/**
 * Reports whether a selector matches labels. An empty selector matches nothing. Throws SelectorError for an invalid
 * one.
 */
export function selectsComponent(
  selector: LabelSelector | null | undefined,
  labels: Readonly<Record<string, string>> | null | undefined,
): boolean {
  const parsed = selectorFrom(selector)
  return !parsed.isEmpty && parsed.matches(labels ?? {})
}

/** Returns the selector of an Application; undefined when it selects nothing. */
export function selectorOf(application: KubeObject): LabelSelector | undefined {
  const spec = isJsonObject(application.spec) ? application.spec : {}
  const selector = ownValue(spec, 'selector')
  if (!isJsonObject(selector) || selectorFrom(selector as LabelSelector).isEmpty) return undefined
  return selector as LabelSelector
}

/** Returns the component kinds of an Application. */
export function componentKindsOf(application: KubeObject): readonly ComponentKind[] {
  const spec = isJsonObject(application.spec) ? application.spec : {}
  const kinds = ownValue(spec, 'componentKinds')
  return (isJsonArray(kinds) ? kinds : []).filter(isJsonObject).flatMap((entry) => {
    const kind = ownValue(entry, 'kind')
    const group = ownValue(entry, 'group')
    // Older documents write an apiVersion as group; for the core group, its version.
    return typeof kind === 'string' && kind !== ''
      ? [{ kind, group: typeof group === 'string' ? groupOf(group) : '' }]
      : []
  })
}

/** Returns the namespaces of the components of an Application. */
export function componentNamespaces(application: KubeObject): readonly string[] {
  const more = application.metadata.annotations?.[componentNamespacesAnnotation] ?? ''
  const own = application.metadata.namespace ?? 'default'
  return [...new Set([own, ...more.split(',').map((name) => name.trim())])].filter((name) => name !== '')
}

/** Reports whether an object is a component of an Application. An Application is never its own component. */
export function isComponent(application: KubeObject, object: KubeObject): boolean {
  if (
    object.kind === application.kind &&
    object.metadata.uid !== undefined &&
    object.metadata.uid === application.metadata.uid
  )
    return false
  return selectsComponent(selectorOf(application), object.metadata.labels)
}

function groupOf(text: string): string {
  const [group = ''] = text.split('/')
  return group === 'core' || /^v\d/.test(group) ? '' : group
}
