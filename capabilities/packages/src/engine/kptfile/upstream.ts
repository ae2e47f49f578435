// Upstream and lock of a Kptfile.
import type { YAMLMap } from 'yaml'
import { yamlLibrary } from '@fairlead/kube'
import { mapField, newNode, setField } from '../yaml/new-node.ts'
import { pairOf } from '../yaml/resource-identity.ts'
import type { GitReference } from './kptfile.ts'
import { editKptfile } from './kptfile.ts'

/** The upstream that a package was fetched from. */
export interface FetchedFrom {
  readonly git: Required<GitReference>
  readonly commit: string
  readonly updateStrategy: string
}

/** A Kptfile for a package whose upstream has none. */
export const emptyKptfile = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {}\n'

/** Returns the Kptfile with upstream and lock set, and the name where one is given. */
export function withUpstream(kptfile: string, { git, commit, updateStrategy }: FetchedFrom, name?: string): string {
  const { repo, directory, ref } = git
  return editKptfile(kptfile, ({ contents }) => {
    if (!yamlLibrary().isMap(contents)) return
    if (name !== undefined) setName(mapField(contents, 'metadata'), name)
    setField(contents, 'upstream', newNode({ type: 'git', git: { repo, directory, ref }, updateStrategy }))
    setField(contents, 'upstreamLock', newNode({ type: 'git', git: { repo, directory, ref, commit } }))
  })
}

/** Sets the name; a comment beside it stays. */
function setName(metadata: YAMLMap, name: string): void {
  const { isScalar } = yamlLibrary()
  const known = pairOf(metadata, 'name')?.value
  if (isScalar(known)) known.value = name
  else setField(metadata, 'name', newNode(name))
}

/** Returns the Kptfile without what a package does not share with its upstream: name, upstream, lock, status. */
export function withoutOwnFields(kptfile: string): string {
  return editKptfile(kptfile, (document) => {
    for (const path of [['metadata', 'name'], ['upstream'], ['upstreamLock'], ['status']])
      if (document.hasIn(path)) document.deleteIn(path)
  })
}
