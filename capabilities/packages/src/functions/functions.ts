// The functions that run in process, by name. Start here: each is a file of its own.
import { functionName } from '../engine/render/function-image.ts'
import type { ResourceFunction } from '../engine/render/resource-function.ts'
import { applyReplacements } from './apply-replacements.ts'
import { applySetters } from './apply-setters.ts'
import { createSetters } from './create-setters.ts'
import { ensureNameSubstring } from './ensure-name-substring.ts'
import { kubeconform } from './kubeconform.ts'
import { listSetters } from './list-setters.ts'
import { removeLocalConfigResources } from './remove-local-config-resources.ts'
import { searchReplace } from './search-replace.ts'
import { setAnnotations } from './set-annotations.ts'
import { setImage } from './set-image.ts'
import { setLabels } from './set-labels.ts'
import { setNamespace } from './set-namespace.ts'
import { upsertResource } from './upsert-resource.ts'
import { validateCel } from './validate-cel.ts'

/** Functions of the catalog's SDK return their resources sorted by type, namespace and name. */
function sorting(run: ResourceFunction): ResourceFunction {
  return (input) => {
    const outcome = run(input)
    const keyed = (outcome.items ?? input.items).map((item) => ({
      item,
      key: `${item.apiVersion} ${item.kind} ${item.namespace} ${item.name}`,
    }))
    const items = keyed.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ item }) => item)
    return { ...outcome, items }
  }
}

/** Functions by the last path element of their image. */
export const functions: ReadonlyMap<string, ResourceFunction> = new Map<string, ResourceFunction>([
  ['apply-replacements', sorting(applyReplacements)],
  ['apply-setters', applySetters],
  ['create-setters', createSetters],
  ['ensure-name-substring', ensureNameSubstring],
  ['kubeconform', kubeconform],
  ['list-setters', listSetters],
  ['no-op', () => ({ results: [] })],
  ['remove-local-config-resources', removeLocalConfigResources],
  ['search-replace', searchReplace],
  ['set-annotations', setAnnotations],
  ['set-image', sorting(setImage)],
  ['set-labels', sorting(setLabels)],
  ['set-namespace', sorting(setNamespace)],
  ['upsert-resource', upsertResource],
  ['validate-cel', validateCel],
])

/** Returns the function of an image, whatever its registry, repository and tag; undefined for another function. */
export function functionOf(image: string): ResourceFunction | undefined {
  return functions.get(functionName(image))
}
