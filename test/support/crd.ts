// CustomResourceDefinitions for tests.
import type { JsonObject, KubeObject } from '@fairlead/kube'

/** The parts of a definition that tests choose. */
export interface CrdOptions {
  readonly group: string
  readonly kind: string
  /** Default: the kind in lower case with an `s`. */
  readonly plural?: string
  /** Default: `Namespaced`. */
  readonly scope?: 'Namespaced' | 'Cluster'
  /** The `openAPIV3Schema`. Default: an object with any fields, which are kept. */
  readonly schema?: JsonObject
  /** Serves the status subresource. Default: false. */
  readonly status?: boolean
}

/** Returns a definition with one version, `v1`, which is served and stored. */
export function crd({
  group,
  kind,
  plural = `${kind.toLowerCase()}s`,
  scope = 'Namespaced',
  ...more
}: CrdOptions): KubeObject {
  const schema = more.schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          ...(more.status === true ? { subresources: { status: {} } } : {}),
        },
      ],
    },
  }
}
