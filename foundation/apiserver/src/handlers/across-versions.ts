// Ownership of fields where versions differ by more than their name: structured merge compares objects in the versions
// of their owners, and only a webhook can say how they look there. The merge itself is pure and synchronous; it runs
// again with each answer it lacked.
import { asJson, asObject, stringifyJson } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { ServedResource } from '../registry/registry.ts'

/** What a merge takes as `convert`. */
type Convert = (object: KubeObject, apiVersion: string) => KubeObject | undefined

/**
 * An answer that is not there yet.
 * @internal caught where the answer is fetched
 */
class Missing extends Error {
  readonly code = 'ConversionMissing'
  readonly object: KubeObject
  readonly apiVersion: string

  constructor(object: KubeObject, apiVersion: string) {
    super(`no conversion to ${apiVersion} yet`)
    this.object = object
    this.apiVersion = apiVersion
  }
}

/**
 * Runs a pure computation that converts between versions of a resource; at once where apiVersion is all that differs.
 * @throws StatusError when a conversion webhook fails
 */
export function acrossVersions<T>(
  { definition }: ServedResource,
  compute: (options: { readonly convert?: Convert }) => T,
): T | Promise<T> {
  if (definition.convert === undefined) return compute({})
  const convert = definition.convert.bind(definition)
  const known = new Map<string, KubeObject>()
  const keyOf = (object: KubeObject, apiVersion: string): string => `${apiVersion} ${stringifyJson(asJson(object))}`
  const lookUp: Convert = (object, apiVersion) => {
    if (object.apiVersion === apiVersion) return object
    const answer = known.get(keyOf(object, apiVersion))
    if (answer === undefined) throw new Missing(object, apiVersion)
    return answer
  }
  const run = async (): Promise<T> => {
    for (;;) {
      try {
        return compute({ convert: lookUp })
      } catch (error) {
        if (!(error instanceof Missing)) throw error
        // What a manager owns may be less than an object; webhooks are asked about objects.
        const whole = asObject({ ...asJson(error.object), metadata: asJson(error.object)['metadata'] ?? {} })
        const [answer] = await convert([whole], error.apiVersion)
        known.set(keyOf(error.object, error.apiVersion), answer!)
      }
    }
  }
  return run()
}
