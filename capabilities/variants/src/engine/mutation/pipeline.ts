// The functions of a variant in the Kptfile: in front of the others, under names by which they are found again.
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { isJsonObject, jsonEqual } from '@fairlead/kube'
import { editResources } from '@fairlead/packages'
import type { Pipeline } from '@fairlead/packages'
import type { PackageVariantSpec } from '../../api.ts'
import { MutationError } from './package-text.ts'
import type { PackageText } from './package-text.ts'

const lists = ['mutators', 'validators'] as const

/** Returns the files with the functions of a variant in the Kptfile. @throws MutationError, PackageError */
export function withFunctions(
  files: PackageText,
  variant: string,
  pipeline: PackageVariantSpec['pipeline'],
): PackageText {
  const kptfile = files['Kptfile']
  if (kptfile === undefined) throw new MutationError('the package has no Kptfile')
  const edited = editResources('Kptfile', kptfile, (resource) => {
    const current = (resource.object['pipeline'] ?? {}) as JsonObject
    for (const list of lists) {
      const wanted = pipeline?.mode === 'Once' ? [] : namedFunctions(variant, pipeline?.[list] ?? [])
      const present = (current[list] ?? []) as readonly JsonValue[]
      const own = present.filter((item) => isOwn(variant, item))
      const isFirst = wanted.every((item, index) => jsonEqual(item, present[index] ?? null))
      if (own.length === wanted.length && isFirst) continue
      resource.removeItems(['pipeline', list], (item) => isOwn(variant, item))
      resource.insertItems(['pipeline', list], wanted, 0)
    }
  })
  return edited === kptfile ? files : { ...files, Kptfile: edited }
}

/** Returns the functions that run once and are not stored. */
export function onceFunctions(pipeline: PackageVariantSpec['pipeline']): Pipeline | undefined {
  if (pipeline?.mode !== 'Once') return undefined
  const { mutators = [], validators = [] } = pipeline
  return mutators.length + validators.length === 0 ? undefined : { mutators, validators }
}

function namedFunctions(
  variant: string,
  functions: NonNullable<NonNullable<PackageVariantSpec['pipeline']>['mutators']>,
): readonly JsonObject[] {
  return functions.map(({ name = '', ...rest }, index) => ({
    name: `PackageVariant.${dotless(variant)}.${dotless(name)}.${index}`,
    ...(rest as unknown as JsonObject),
  }))
}

function isOwn(variant: string, item: JsonValue): boolean {
  const name = isJsonObject(item) ? item['name'] : undefined
  if (typeof name !== 'string') return false
  const parts = name.split('.')
  return parts.length === 4 && parts[0] === 'PackageVariant' && parts[1] === dotless(variant) && /^\d+$/.test(parts[3]!)
}

/** Names of objects have no underscores: two variants never share a marker. */
function dotless(name: string): string {
  return name.replaceAll('.', '_')
}
