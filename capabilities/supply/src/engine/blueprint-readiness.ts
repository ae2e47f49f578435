// The readiness of a blueprint: all its templates exist (originals/cartographer.md §1.4).
import type { BlueprintResource } from '../api.ts'
import { verdict } from './conditions/condition.ts'
import type { Verdict } from './conditions/condition.ts'
import { templateNames } from './templates/template-choice.ts'

/**
 * Returns Ready, or TemplatesNotFound with the names of the resources whose templates are missing, once for each
 * missing option.
 */
export function blueprintReadiness(
  resources: readonly BlueprintResource[],
  exists: (kind: BlueprintResource['templateRef']['kind'], name: string) => boolean,
): Verdict {
  const missing = resources.flatMap((resource) =>
    templateNames(resource).flatMap((name) => (exists(resource.templateRef.kind, name) ? [] : [resource.name])),
  )
  if (missing.length === 0) return verdict('True', 'Ready')
  return verdict('False', 'TemplatesNotFound', `did not find the template of the resource(s) [${missing.join(', ')}]`)
}
