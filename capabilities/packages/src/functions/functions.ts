// The functions that run in process, by name. Start here: each is a file of its own.
import { functionName } from '../engine/render/function-image.ts'
import type { ResourceFunction } from '../engine/render/resource-function.ts'
import { applyReplacements } from './apply-replacements.ts'
import { applySetters } from './apply-setters.ts'
import { createSetters } from './create-setters.ts'
import { ensureNameSubstring } from './ensure-name-substring.ts'
import { listSetters } from './list-setters.ts'
import { removeLocalConfigResources } from './remove-local-config-resources.ts'
import { searchReplace } from './search-replace.ts'
import { setAnnotations } from './set-annotations.ts'
import { setImage } from './set-image.ts'
import { setLabels } from './set-labels.ts'
import { setNamespace } from './set-namespace.ts'
import { upsertResource } from './upsert-resource.ts'

/** Functions by the last path element of their image. */
export const functions: ReadonlyMap<string, ResourceFunction> = new Map<string, ResourceFunction>([
  ['apply-replacements', applyReplacements],
  ['apply-setters', applySetters],
  ['create-setters', createSetters],
  ['ensure-name-substring', ensureNameSubstring],
  ['list-setters', listSetters],
  ['no-op', () => ({ results: [] })],
  ['remove-local-config-resources', removeLocalConfigResources],
  ['search-replace', searchReplace],
  ['set-annotations', setAnnotations],
  ['set-image', setImage],
  ['set-labels', setLabels],
  ['set-namespace', setNamespace],
  ['upsert-resource', upsertResource],
])

/** Returns the function of an image, whatever its registry, repository and tag; undefined for another function. */
export function functionOf(image: string): ResourceFunction | undefined {
  return functions.get(functionName(image))
}
