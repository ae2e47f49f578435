// managedFields across versions that differ by more than their name: structured merge compares objects in the versions
// of their managers, and only a conversion webhook knows their form there. The merge itself is pure; it
// runs again with each conversion that it lacked.
import { asJson, asObject, stringifyJson } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { ServedResource } from '../registry/registry.ts'

/** The `convert` option of a merge. */
type Convert = (object: KubeObject, apiVersion: string) => KubeObject | undefined

/**
 * A conversion that has not been fetched yet.
 * @internal caught where the conversion is fetched
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
  compute: (options: { readonly convert?: Convert }) => Promise<T>,
): Promise<T> {
  if (definition.convert === undefined) return compute({})
  const convert = definition.convert.bind(definition)
  const known = new Map<string, KubeObject>()
  const keyOf = (object: KubeObject, apiVersion: string): string => `${apiVersion} ${stringifyJson(asJson(object))}`
  const lookUp: Convert = (object, apiVersion) => {
    if (object.apiVersion === apiVersion) return object
    const converted = known.get(keyOf(object, apiVersion))
    if (converted === undefined) throw new Missing(object, apiVersion)
    return converted
  }
  const run = async (): Promise<T> => {
    for (;;) {
      try {
        return await compute({ convert: lookUp })
      } catch (error) {
        if (!(error instanceof Missing)) throw error
        // The fields of a manager may be less than an object; webhooks convert objects.
        const whole = asObject({ ...asJson(error.object), metadata: asJson(error.object)['metadata'] ?? {} })
        const [converted] = await convert([whole], error.apiVersion)
        known.set(keyOf(error.object, error.apiVersion), converted!)
      }
    }
  }
  return run()
}
