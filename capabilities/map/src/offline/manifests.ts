// The manifests that the commands of map read, checked against the schemas of CustomResourceDefinitions.
import type { KubeObject } from '@fairlead/kube'
import { CrdSchemas, readManifests, validManifests } from '@fairlead/offline'
import type { MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import { crds } from '../generated/crds.ts'

/** The objects of some files. */
export interface MapManifests {
  readonly objects: readonly KubeObject[]
  /** The MapControllers among the objects. */
  readonly controllers: readonly MapController[]
}

/**
 * Reads manifests with the defaults of their schemas. Throws ManifestError for a file that cannot be read and for
 * objects that an API server would refuse.
 */
export async function readMapManifests(paths: readonly string[], stdin: () => Promise<string>): Promise<MapManifests> {
  const manifests = await readManifests(paths, { stdin })
  const schemas = new CrdSchemas([...crds, ...manifests.map(({ object }) => object)])
  const objects = validManifests(manifests, schemas).map(({ object }) => object)
  return { objects, controllers: objects.filter(isMapController) as unknown as MapController[] }
}

function isMapController(object: KubeObject): boolean {
  return object.kind === 'MapController' && object.apiVersion === apiVersion
}
