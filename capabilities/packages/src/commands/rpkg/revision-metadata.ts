// The file `.KptRevisionMetadata`, which ties pulled files to the version of the revision that they come from.
import { parse, stringify } from 'yaml'
import type { ObjectMeta } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'

/** Name of the file. */
export const metadataFile = '.KptRevisionMetadata'

/** Returns the content of the file for an object. */
export function revisionMetadata({ name, namespace, uid, resourceVersion, creationTimestamp }: ObjectMeta): string {
  return stringify({
    apiVersion: '',
    kind: 'KptRevisionMetadata',
    metadata: { name, namespace, creationTimestamp, resourceVersion, uid },
  })
}

/** Returns the resourceVersion that the files were pulled at. @throws CommandError for files that were not pulled */
export function pulledVersion(files: ReadonlyMap<string, string>): string | undefined {
  const content = files.get(metadataFile)
  if (content === undefined)
    throw new CommandError(
      `the files have no ${metadataFile}\nuse "fairlead rpkg pull" to download the remote package metadata before pushing`,
    )
  const { metadata } = (parse(content) ?? {}) as { metadata?: { resourceVersion?: unknown } }
  const version = metadata?.resourceVersion
  return typeof version === 'string' || typeof version === 'number' ? String(version) : undefined
}
