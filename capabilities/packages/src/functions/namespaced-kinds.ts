// Kubernetes' own kinds, and which of them lie in namespaces.
import { KindCatalog, UnknownKindError } from '@fairlead/offline'

let catalog: KindCatalog | undefined
const known = new Map<string, boolean | undefined>()

/** Reports whether a kind lies in namespaces, undefined for one that Kubernetes does not define. */
export function isNamespacedKind(apiVersion: string, kind: string): boolean | undefined {
  const type = `${apiVersion}/${kind}`
  if (!known.has(type)) known.set(type, lookUp(apiVersion, kind))
  return known.get(type)
}

function lookUp(apiVersion: string, kind: string): boolean | undefined {
  catalog ??= new KindCatalog()
  try {
    return catalog.byKind({ apiVersion, kind }).namespaced
  } catch (error) {
    if (error instanceof UnknownKindError) return undefined
    throw error
  }
}
