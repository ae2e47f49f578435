// Resolves url actions: validates the inputs, and substitutes values so that none changes where the address leads.
import type { JsonValue } from '@fairlead/kube'
import { partFor } from '../maps/merge.ts'
import type { MergedAction } from '../maps/merge.ts'
import { PatternResolver, whole } from '../patterns/pattern-resolver.ts'
import { PatternError, parsePattern } from '../patterns/pattern.ts'
import { safeUrl, urlValue } from '../safe-url.ts'
import { formOf, requiredField } from './command.ts'
import type { PlanContext } from './command.ts'
import { checkInputs } from './inputs.ts'

/** Maximum length of an address, in characters. */
const maxLength = 65_536

/** Returns the address of a url action. Throws InputError or PatternError. */
export async function planUrl(
  action: MergedAction,
  body: JsonValue | undefined,
  { merged, scope }: Pick<PlanContext, 'merged' | 'scope'>,
): Promise<string> {
  const definedIn = action.from.map
  const form = await formOf(action, { merged, scope })
  const snippetOf = (name: string): string | undefined => {
    const source = partFor(merged, definedIn, 'snippets', name)
    return typeof source === 'string' ? source : undefined
  }
  const inputs = form && (await checkInputs(form, body, snippetOf, scope.runSnippet))
  const resolver = new PatternResolver({ ...scope, inputs })
  let url = ''
  for (const part of parsePattern(requiredField(action, 'url-pattern'))) {
    url += urlValue(part, whole(await resolver.resolve([part], definedIn)), url)
    if (url.length > maxLength) throw new PatternError('TooLarge', `the address is longer than ${maxLength} characters`)
  }
  return safeUrl(url)
}
