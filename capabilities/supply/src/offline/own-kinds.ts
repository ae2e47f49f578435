// The kinds of carto.run among manifests: their resources, and what the schemas of their CRDs say.
import { parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CrdSchemas, KindCatalog, validManifests } from '@fairlead/offline'
import type { Manifest } from '@fairlead/offline'
import { apiGroup } from '../api.ts'
import { crds } from '../generated/crds.ts'

/** The kinds that the CRDs of this capability define. */
export class OwnKinds {
  readonly #catalog = new KindCatalog(crds)
  readonly #schemas = new CrdSchemas(crds)

  /**
   * Returns the manifests with the defaults of their CRDs. Throws ManifestError when an object of carto.run is invalid.
   */
  valid(manifests: readonly Manifest[]): readonly Manifest[] {
    return validManifests(manifests, this.#schemas)
  }

  /** Returns the resource (`workloads`) of an object; undefined for other groups. */
  resourceOf({ apiVersion, kind }: KubeObject): string | undefined {
    if (parseApiVersion(apiVersion).group !== apiGroup) return undefined
    return this.#catalog.byKind({ apiVersion, kind }).plural
  }
}
