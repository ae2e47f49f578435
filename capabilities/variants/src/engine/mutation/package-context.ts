// The package context: the ConfigMap `kptfile.kpt.dev` that functions read (spec variants §2.3).
import { stringifyYaml } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { editResources } from '@fairlead/packages'
import type { PackageVariantSpec } from '../../api.ts'
import { reservedKeys } from '../variant/spec-errors.ts'
import { MutationError } from './package-text.ts'
import type { PackageText } from './package-text.ts'

/** Path of the file. */
export const contextPath = 'package-context.yaml'

const contextName = 'kptfile.kpt.dev'

/** Names the keys that variants have set, by variant: a key that leaves a spec leaves the package. */
const keysAnnotation = 'config.porch.kpt.dev/variant-keys'

/** The variant, as far as the context is concerned. */
export interface ContextVariant {
  readonly variant: string
  readonly packageName: string
  readonly packageContext: PackageVariantSpec['packageContext']
}

/** Returns the files with the context that a variant asks for. @throws MutationError, PackageError */
export function withContext(files: PackageText, variant: ContextVariant): PackageText {
  const { data = {}, removeKeys = [] } = variant.packageContext ?? {}
  const content = files[contextPath]
  if (content === undefined) {
    if (Object.keys(data).length === 0) return files
    return withContext({ ...files, [contextPath]: newContext(variant.packageName) }, variant)
  }
  const edited = editResources(contextPath, content, (resource) => {
    const { object } = resource
    const metadata = (object['metadata'] ?? {}) as JsonObject
    if (object['kind'] !== 'ConfigMap' || metadata['name'] !== contextName)
      throw new MutationError(`${contextPath}: expected a ConfigMap with the name ${contextName}`)
    const keys = keysOf(metadata)
    const isRemoved = new Set(removeKeys)
    const set = Object.entries(data).filter(([key]) => !isRemoved.has(key))
    const isSet = new Set(set.map(([key]) => key))
    const former = [...(keys[variant.variant] ?? []), ...removeKeys]
    resource.removeFields(['data'], new Set(former.filter((key) => !isSet.has(key))))
    resource.setFields(['data'], Object.fromEntries(set))
    const { [variant.variant]: _before, ...others } = keys
    const after = set.length === 0 ? others : { ...others, [variant.variant]: set.map(([key]) => key).sort() }
    if (Object.keys(after).length === 0) resource.remove(['metadata', 'annotations', keysAnnotation])
    else resource.set(['metadata', 'annotations', keysAnnotation], JSON.stringify(sorted(after)))
  })
  return edited === content ? files : { ...files, [contextPath]: edited }
}

function newContext(packageName: string): string {
  const data = { [reservedKeys[0]!]: packageName.split('/').at(-1)!, [reservedKeys[1]!]: packageName }
  return stringifyYaml({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: contextName, annotations: { 'config.kubernetes.io/local-config': 'true' } },
    data,
  })
}

function keysOf(metadata: JsonObject): Readonly<Record<string, readonly string[]>> {
  const text = (metadata['annotations'] as JsonObject | undefined)?.[keysAnnotation]
  if (typeof text !== 'string') return {}
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value !== 'object' || value === null) return {}
    return Object.fromEntries(
      Object.entries(value).filter((entry): entry is [string, string[]] => Array.isArray(entry[1])),
    )
  } catch {
    // A user has edited it: nothing is known to be ours.
    return {}
  }
}

function sorted(keys: Readonly<Record<string, readonly string[]>>): JsonObject {
  return Object.fromEntries(Object.entries(keys).sort(([a], [b]) => (a < b ? -1 : 1)))
}
