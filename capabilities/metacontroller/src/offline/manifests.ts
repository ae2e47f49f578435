// The manifests that the commands of map read, checked against the schemas of CustomResourceDefinitions.
import type { KubeObject } from '@fairlead/kube'
import { CrdSchemas, readManifests, validManifests } from '@fairlead/offline'
import type { MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import type { SyncManifest } from './sync-rendering.ts'
import { crds } from '../generated/crds.ts'

/** The objects of some files. */
export interface MapManifests {
  readonly objects: readonly KubeObject[]
  /** The MapControllers among the objects. */
  readonly controllers: readonly ControllerManifest[]
  /** The CompositeControllers and DecoratorControllers among the objects. */
  readonly syncControllers: readonly SyncControllerManifest[]
}

/** A MapController and where it was read. */
export interface ControllerManifest {
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly controller: MapController
}

/** A CompositeController or DecoratorController and where it was read. */
export interface SyncControllerManifest extends Pick<ControllerManifest, 'file' | 'line'> {
  readonly controller: SyncManifest
}

/**
 * Reads manifests with the defaults of their schemas. Throws ManifestError for a file that cannot be read and for
 * objects that an API server would refuse.
 */
export async function readMapManifests(paths: readonly string[], stdin: () => Promise<string>): Promise<MapManifests> {
  const manifests = await readManifests(paths, { stdin })
  const schemas = new CrdSchemas([...crds, ...manifests.map(({ object }) => object)])
  const valid = validManifests(manifests, schemas)
  return {
    objects: valid.map(({ object }) => object),
    controllers: valid
      .filter(({ object }) => isMapController(object))
      .map(({ file, line, object }) => ({ file, line, controller: object as unknown as MapController })),
    syncControllers: valid
      .filter(({ object }) => isSyncController(object))
      .map(({ file, line, object }) => ({ file, line, controller: object as unknown as SyncManifest })),
  }
}

function isSyncController({ kind, apiVersion: version }: KubeObject): boolean {
  return (kind === 'CompositeController' || kind === 'DecoratorController') && version === apiVersion
}

function isMapController(object: KubeObject): boolean {
  return object.kind === 'MapController' && object.apiVersion === apiVersion
}
