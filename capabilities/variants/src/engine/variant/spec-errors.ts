// Validation of a variant's spec beyond its schema. The messages are Porch's where Porch has one.
import { dns1123Label } from '@fairlead/kube'
import type { PackageVariantSpec } from '../../api.ts'
import { rangeError } from './version-range.ts'

/** A spec as it may arrive: servers fill in defaults, but schemas are not everywhere. */
export type GivenSpec = { readonly [Field in keyof PackageVariantSpec]?: Partial<PackageVariantSpec[Field]> }

/** Returns the spec with defaults. An empty policy is none, as to Porch. */
export function withDefaults(spec: GivenSpec): PackageVariantSpec {
  return {
    ...(spec as PackageVariantSpec),
    adoptionPolicy: spec.adoptionPolicy || 'adoptNone',
    deletionPolicy: spec.deletionPolicy || 'delete',
    onConflict: spec.onConflict || 'upstream',
    onProposed: spec.onProposed || 'keep',
  }
}

/** Keys of the package context that functions rely on. */
export const reservedKeys: readonly string[] = ['name', 'package-path']

/** Returns the errors of a spec with defaults; none when it is valid. */
export function specErrors({ upstream, downstream, ...spec }: PackageVariantSpec): readonly string[] {
  const errors: string[] = []
  for (const [field, value] of Object.entries({ upstream, downstream })) {
    if (value === undefined) {
      errors.push(`missing required field spec.${field}`)
      continue
    }
    for (const part of ['repo', 'package'] as const)
      if (!value[part]) errors.push(`missing required field spec.${field}.${part}`)
  }
  if (upstream !== undefined && downstream !== undefined && upstream.repo && upstream.package)
    if (upstream.repo === downstream.repo && upstream.package === downstream.package)
      errors.push('spec.upstream and spec.downstream name the same package')
  errors.push(...followErrors(upstream))
  if (!['adoptNone', 'adoptExisting'].includes(spec.adoptionPolicy))
    errors.push('spec.adoptionPolicy field can only be "adoptNone" or "adoptExisting"')
  if (!['delete', 'orphan'].includes(spec.deletionPolicy))
    errors.push('spec.deletionPolicy field can only be "orphan" or "delete"')
  const { data = {}, removeKeys = [] } = spec.packageContext ?? {}
  for (const key of reservedKeys) {
    if (key in data) errors.push(`spec.packageContext.data field cannot contain the key "${key}"`)
    if (removeKeys.includes(key)) errors.push(`spec.packageContext.removeKeys field cannot contain the key "${key}"`)
  }
  for (const [index, { name }] of injectorsOf(spec).entries())
    if (!name) errors.push(`spec.injectors[${index}].name must not be empty`)
  return errors
}

function followErrors(upstream: PackageVariantSpec['upstream'] | undefined): readonly string[] {
  const { follow, revision, workspaceName } = upstream ?? {}
  const errors: string[] = []
  if (follow !== undefined) {
    if (Object.values(follow).filter((value) => value !== undefined).length !== 1)
      errors.push('spec.upstream.follow needs exactly one of latest, label, tag and range')
    if (revision !== undefined || workspaceName !== undefined)
      errors.push('spec.upstream.follow excludes revision and workspaceName')
    for (const wrong of [follow.range && rangeError(follow.range), follow.tag && tagError(follow.tag)])
      if (wrong !== undefined) errors.push(wrong)
  }
  if (revision !== undefined && Number.isNaN(revisionNumber(revision)))
    errors.push(`spec.upstream.revision ${JSON.stringify(revision)} is no number, and no number after v`)
  return errors
}

/**
 * Returns why a tag can be followed by no variant; undefined when it can. The revision at the tag has it for a
 * workspace, which is a part of the revision's name.
 */
export function tagError(tag: string): string | undefined {
  const field = `spec.upstream.follow.tag ${JSON.stringify(tag)}`
  if (/^v?\d+$/.test(tag)) return `${field} is the number of a revision; write spec.upstream.revision instead`
  const problems = dns1123Label(tag)
  return problems.length === 0 ? undefined : `${field} cannot be followed: ${problems.join(', ')}`
}

/** Returns the number of a revision as users write it: `3`, `v3` or `-1`; NaN for anything else. */
export function revisionNumber(revision: number | string): number {
  const text = String(revision)
  return /^(?:v?[1-9]\d*|-1)$/.test(text) ? Number(text.replace(/^v/, '')) : Number.NaN
}

/** Returns the injectors under whichever name they are given. */
export function injectorsOf(
  spec: Pick<PackageVariantSpec, 'injectors' | 'injectionSelectors'>,
): NonNullable<PackageVariantSpec['injectors']> {
  return spec.injectors ?? spec.injectionSelectors ?? []
}
