// Merge of Kptfiles.
import { contentOf } from '../yaml/yaml-file.ts'
import { YamlDocument } from '../yaml/yaml-document.ts'
import { parseKptfile } from '../kptfile/kptfile.ts'
import { kptfileShape } from '../merge3/kptfile-shape.ts'
import { mergeDocument } from '../merge3/merge-document.ts'
import type { Content } from './opaque-file.ts'
import { mergeOpaqueFile, sameContent } from './opaque-file.ts'
import type { MergeContext } from './resource-merge.ts'

/**
 * Merges the three versions of a Kptfile: name and, for the package that is updated, upstream and lock stay local.
 * @throws PackageError `InvalidKptfile`
 */
export function mergeKptfile(
  path: string,
  contents: { readonly base: Content; readonly upstream: Content; readonly local: Content },
  context: MergeContext,
  isRoot: boolean,
): Content {
  const { base, upstream, local } = contents
  if (local === undefined || upstream === undefined)
    return isRoot ? (local ?? upstream) : mergeOpaqueFile(path, contents, context.conflicts)
  if (sameContent(base, upstream)) return local
  const document = (content: string | Uint8Array): YamlDocument => {
    const source = contentOf(path, content).replaceAll('\r\n', '\n')
    // Refuses what is no Kptfile before a merge could keep the wrong part of it.
    parseKptfile(source, path)
    return new YamlDocument(path, 1, source)
  }
  const merged = mergeDocument(
    base === undefined ? undefined : document(base),
    document(upstream),
    document(local),
    kptfileShape(isRoot),
    context.policy,
  )
  for (const field of merged.conflicts) context.conflicts.push({ file: path, resource: 'Kptfile', ...field })
  return merged.source === document(local).source ? local : merged.source
}
