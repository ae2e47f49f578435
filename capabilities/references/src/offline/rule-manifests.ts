// Reads the manifests of the commands: objects without a namespace are in `default`, as kubectl would put them.
import type { CommandContext } from '@fairlead/controller/command'
import type { KubeObject } from '@fairlead/kube'
import { CommandError, KindCatalog, readManifests, usageError } from '@fairlead/offline'
import type { Manifest } from '@fairlead/offline'
import { FileCluster } from './file-cluster.ts'

/**
 * Returns the objects of files.
 * @throws CommandError when no file is given, one is malformed, or none has a ReferenceRule
 */
export async function readRuleManifests(
  paths: readonly string[],
  context: Pick<CommandContext<object, object>, 'stdin'>,
): Promise<FileCluster> {
  const cluster = await readReferences(paths, context, [])
  if (cluster.rules.length === 0) throw new CommandError(`There is no ReferenceRule in ${paths.join(', ')}`)
  return cluster
}

/**
 * Returns the objects of files. `definitions` are CustomResourceDefinitions that the files may lack.
 * @throws CommandError when no file is given, or one is malformed
 */
export async function readReferences(
  paths: readonly string[],
  { stdin }: Pick<CommandContext<object, object>, 'stdin'>,
  definitions: readonly KubeObject[],
): Promise<FileCluster> {
  if (paths.length === 0)
    throw usageError('Name files or folders with ReferenceRules, targets and sources (-f folder/)')
  const manifests = await readManifests(paths, { stdin })
  const catalog = new KindCatalog([...manifests.map(({ object }) => object), ...definitions])
  return new FileCluster(
    manifests.map((manifest) => placed(manifest, catalog)),
    definitions,
  )
}

function placed(manifest: Manifest, catalog: KindCatalog): Manifest {
  const { object } = manifest
  if (object.metadata.namespace !== undefined || catalog.byKind(object).namespaced !== true) return manifest
  return { ...manifest, object: { ...object, metadata: { ...object.metadata, namespace: 'default' } } }
}
