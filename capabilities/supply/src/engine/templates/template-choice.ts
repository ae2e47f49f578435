// The template of a resource for an owner: the one that it references, or the option with the best match
// (originals/cartographer.md §1.8).
import type { KubeObject } from '@fairlead/kube'
import type { BlueprintResource } from '../../api.ts'
import { verdict } from '../conditions/condition.ts'
import type { Verdict } from '../conditions/condition.ts'
import { bestMatches } from '../blueprints/selection.ts'

/** A template, an input that is passed through, or the reason why neither could be chosen. */
export type TemplateChoice =
  | { readonly kind: 'template'; readonly name: string }
  | { readonly kind: 'pass-through'; readonly input: string }
  | { readonly kind: 'none'; readonly submitted: Verdict }

/** Chooses the template for an owner. `chain` is the name of the blueprint, for messages. */
export function chooseTemplate(
  resource: BlueprintResource,
  owner: Pick<KubeObject, 'metadata'>,
  chain: string,
): TemplateChoice {
  const { name, options = [] } = resource.templateRef
  if (options.length === 0) {
    if (name !== undefined && name !== '') return { kind: 'template', name }
    return noChoice(
      'ResolveTemplateOptionsError',
      `resource [${resource.name}] in supply chain [${chain}] references no template`,
    )
  }
  const found = bestMatches(
    owner,
    options.map(({ selector }) => selector),
  ).map((index) => options[index]!)
  const [only] = found
  if (found.length !== 1 || only === undefined) {
    const names = found.map((option) => option.name ?? option.passThrough ?? '')
    const all = options.map((option) => option.name ?? option.passThrough ?? '')
    const hint = found.length === 0 ? `; its options are [${all.join(', ')}]` : ''
    return noChoice(
      'TemplateOptionsMatchError',
      `expected exactly 1 option to match, found [${found.length}] matching options [${names.join(', ')}] for resource [${resource.name}] in supply chain [${chain}]${hint}`,
    )
  }
  if (only.passThrough !== undefined) return { kind: 'pass-through', input: only.passThrough }
  if (only.name !== undefined) return { kind: 'template', name: only.name }
  return noChoice(
    'ResolveTemplateOptionsError',
    `an option of resource [${resource.name}] in supply chain [${chain}] references no template`,
  )
}

/** Returns the names of all templates that a resource references. */
export function templateNames({ templateRef }: BlueprintResource): string[] {
  const names = [templateRef.name, ...(templateRef.options ?? []).map((option) => option.name)]
  return names.filter((name) => name !== undefined && name !== '') as string[]
}

function noChoice(reason: string, message: string): TemplateChoice {
  return { kind: 'none', submitted: verdict('False', reason, message) }
}
