// The kinds that the cases of a file use, as definitions.
import type { KubeObject } from '@fairlead/kube'
import type { CaseResource } from './map-case.ts'

/** Returns the CustomResourceDefinition of a kind. */
export function definitionOf({ apiVersion, kind, plural, namespaced }: CaseResource): KubeObject {
  const [group = '', version = apiVersion] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  const spec = {
    group,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    names: { kind, plural },
    versions: [{ name: version }],
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec,
  }
}
