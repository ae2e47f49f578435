// The readiness of a blueprint as the caches show it.
import type { Reader } from '@fairlead/controller'
import type { Blueprint } from '../api.ts'
import { blueprintReadiness } from '../engine/blueprint-readiness.ts'
import type { Verdict } from '../engine/conditions/condition.ts'
import { templateNames } from '../engine/templates/template-choice.ts'
import { templateKind } from './kinds.ts'

/** Returns whether all templates of a blueprint exist. A change of one of them requeues the reader. */
export async function templatesReadiness({ spec }: Blueprint, read: Reader): Promise<Verdict> {
  const existing = new Set<string>()
  for (const resource of spec.resources) {
    const { kind } = resource.templateRef
    for (const name of templateNames(resource)) {
      const template = await read.get(templateKind(kind), { namespace: '', name })
      if (template !== undefined) existing.add(`${kind}/${name}`)
    }
  }
  return blueprintReadiness(spec.resources, (kind, name) => existing.has(`${kind}/${name}`))
}
