// Whether a blueprint can be used: all its templates are there (originals/cartographer.md §1.4).
import type { BlueprintResource } from '../api.ts'
import { verdict } from './condition.ts'
import type { Verdict } from './condition.ts'
import { templateNames } from './templates/template-choice.ts'

/** Ready, or TemplatesNotFound with the resources whose templates are missing; one with several options can appear several times. */
export function blueprintReadiness(
  resources: readonly BlueprintResource[],
  isThere: (kind: BlueprintResource['templateRef']['kind'], name: string) => boolean,
): Verdict {
  const missing = resources.flatMap((resource) =>
    templateNames(resource).flatMap((name) => (isThere(resource.templateRef.kind, name) ? [] : [resource.name])),
  )
  if (missing.length === 0) return verdict('True', 'Ready')
  return verdict('False', 'TemplatesNotFound', `did not find the template of the resource(s) [${missing.join(', ')}]`)
}
