// Updates of rendered packages: what functions made of the upstream is no change of the local package.
import type { PackageFiles } from '../package-files.ts'
import { hasMutators, pipelineFiles } from '../render/pipeline-source.ts'
import { addMergeComments } from './merge-comments.ts'
import { isSameFile } from './subpackages.ts'
import type { PackageUpdate, UpdatedPackage } from './update-package.ts'
import { updatePackage } from './update-package.ts'

/** A rendered version, or why it could not be rendered. */
export type RenderedVersion = { readonly files: PackageFiles } | { readonly failure: string }

/**
 * Renders a version of the package with the pipelines and function configs of another: `renderPackage` with its option
 * `pipelines`.
 */
export type RenderVersion = (files: PackageFiles, pipelines: PackageFiles) => Promise<RenderedVersion>

/** The updated package. */
export interface RenderedUpdate extends UpdatedPackage {
  /** Why the versions were compared as they are in git: resources that upstream deleted may be left, as conflicts. */
  readonly unrendered?: string
}

/**
 * Brings the changes of upstream since the base into a local package that was rendered since it was cloned. A rendered
 * package differs from its upstream in all that its functions set, so compared with the base as it is in git every
 * resource looks changed: deletions upstream, and changes of values that functions derive, would be conflicts.
 * Therefore
 * - the base is rendered with the pipelines and function configs of the local package,
 * - upstream is rendered with those that the merge of the three gives,
 * - a file that is locally as it was in the base, thus not rendered, is compared as it is in git.
 *
 * The result is to be rendered again. Strategies other than resource-merge take upstream's files as they are in git;
 * fast-forward accepts a package whose only changes are those of its functions.
 * @throws PackageError as `updatePackage`
 */
export async function updateRenderedPackage(update: PackageUpdate, render: RenderVersion): Promise<RenderedUpdate> {
  const { base, upstream, local, strategy, onConflict, annotate } = update
  if (strategy === 'force-delete-replace' || strategy === 'copy-merge' || !hasMutators(local))
    return updatePackage(update)
  const before = await render(addMergeComments(base, { annotate }), pipelineFiles(local))
  if ('failure' in before) return { ...updatePackage(update), unrendered: `the base: ${before.failure}` }
  const renderedBase = comparable(base, before.files, update)
  if (strategy === 'fast-forward') return updatePackage({ ...update, base: renderedBase })
  const after = await render(addMergeComments(upstream, { annotate }), mergedPipelines(update))
  if ('failure' in after) return { ...updatePackage(update), unrendered: `upstream: ${after.failure}` }
  const renderedUpstream = comparable(upstream, after.files, update)
  return updatePackage({ base: renderedBase, upstream: renderedUpstream, local, strategy, onConflict, annotate })
}

/** Returns a version for the comparison: rendered, where the local package is. */
function comparable(source: PackageFiles, rendered: PackageFiles, { base, local }: PackageUpdate): PackageFiles {
  const files = new Map(rendered)
  for (const path of new Set([...source.keys(), ...rendered.keys()])) {
    if (!isSameFile(path, base.get(path), local.get(path))) continue
    const content = source.get(path)
    if (content === undefined) files.delete(path)
    else files.set(path, content)
  }
  return files
}

/** Returns the Kptfiles and function configs that the update gives. */
function mergedPipelines({ base, upstream, local, strategy, onConflict }: PackageUpdate): PackageFiles {
  const paths = new Set([base, upstream, local].flatMap((files) => [...pipelineFiles(files).keys()]))
  const part = (files: PackageFiles): PackageFiles => new Map([...files].filter(([path]) => paths.has(path)))
  return updatePackage({
    base: part(base),
    upstream: part(upstream),
    local: part(local),
    strategy,
    onConflict: onConflict === 'local' ? 'local' : 'upstream',
  }).files
}
