// Edits of Kptfiles that revisions need: name, upstream, labels, annotations, gates. Comments stay.
import { isMap } from 'yaml'
import type { Document } from 'yaml'
import type { Lock, PackageRevision } from '../api.ts'
import { editKptfile } from '../engine/kptfile/kptfile.ts'
import type { Pipeline } from '../engine/kptfile/kptfile.ts'
import { PackageError } from '../engine/package-error.ts'
import type { PackageFiles } from '../engine/package-files.ts'
import { mapAt, removeField, setNode, setText, textAt, valueAt } from '../engine/render/fields.ts'
import { YamlDocument } from '../engine/yaml/yaml-document.ts'

const upstreamIdentifier = 'internal.kpt.dev/upstream-identifier'

/** Returns a Kptfile with another name and upstream. @throws PackageError `InvalidKptfile` */
export function withUpstream(source: string, { git }: Lock, name: string): string {
  const { repo, directory, ref, commit } = git ?? {}
  return editKptfile(source, (document) => {
    const root = rootOf(document.contents)
    setText(root, ['metadata', 'name'], name)
    setText(root, ['metadata', 'annotations', upstreamIdentifier], `kpt.dev|Kptfile|default|${name}`)
    const updateStrategy = textAt(root, 'upstream', 'updateStrategy')
    const upstream = {
      type: 'git',
      git: { repo, directory, ref },
      ...(updateStrategy !== undefined && { updateStrategy }),
    }
    setNode(root, 'upstream', document.createNode(upstream))
    setNode(root, 'upstreamLock', document.createNode({ type: 'git', git: { repo, directory, ref, commit } }))
  })
}

/** Returns a Kptfile with other labels, annotations and gates; those left out stay. @throws PackageError */
export function withPackageMetadata(
  source: string,
  { packageMetadata, readinessGates }: Pick<PackageRevision['spec'], 'packageMetadata' | 'readinessGates'>,
): string {
  return editKptfile(source, (document) => {
    const root = rootOf(document.contents)
    for (const field of ['labels', 'annotations'] as const) {
      const metadata = mapAt(root, 'metadata')
      if (packageMetadata === undefined || metadata === undefined) continue
      const value = packageMetadata[field]
      if (value === undefined || Object.keys(value).length === 0) removeField(metadata, field)
      else setNode(metadata, field, document.createNode(value))
    }
    if (readinessGates === undefined) return
    const info = mapAt(root, 'info')
    if (info === undefined) setNode(root, 'info', document.createNode({ readinessGates }))
    else setNode(info, 'readinessGates', document.createNode(readinessGates))
  })
}

/** Returns the files with another pipeline in the Kptfile. @throws PackageError `InvalidKptfile` */
export function withPipeline(files: PackageFiles, pipeline: Pipeline): PackageFiles {
  return editedKptfile(files, (root, document) => setNode(root, 'pipeline', document.createNode(pipeline)))
}

/** Returns the files with pipeline and status of another Kptfile. @throws PackageError `InvalidKptfile` */
export function withBookkeepingOf(files: PackageFiles, before: PackageFiles): PackageFiles {
  const former = before.get('Kptfile')
  if (typeof former !== 'string') return files
  const nodes = new YamlDocument('Kptfile', 1, former).root
  return editedKptfile(files, (root) => {
    for (const field of ['pipeline', 'status']) {
      const node = nodes === undefined ? undefined : valueAt(nodes, field)
      if (node === undefined) removeField(root, field)
      else setNode(root, field, node)
    }
  })
}

function editedKptfile(
  files: PackageFiles,
  edit: (root: Parameters<typeof setText>[0], document: Document) => void,
): PackageFiles {
  const kptfile = files.get('Kptfile')
  if (typeof kptfile !== 'string') return files
  const edited = editKptfile(kptfile, (document) => edit(rootOf(document.contents), document))
  return new Map(files).set('Kptfile', edited)
}

function rootOf(contents: unknown): Parameters<typeof setText>[0] {
  if (isMap(contents)) return contents as Parameters<typeof setText>[0]
  throw new PackageError('InvalidKptfile', 'the Kptfile is no map', { path: 'Kptfile', line: 1 })
}
