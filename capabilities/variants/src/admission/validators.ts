// Admission of variants and sets: the rights of their writers. Their schemas say what can be said without the cluster.
import type { Validator } from '@fairlead/controller'
import { apiGroup } from '../api.ts'
import { setAccess, variantAccess } from './author-access.ts'

/** Validators of the capability. */
export const validators: readonly Validator[] = [
  { group: apiGroup, resources: ['packagevariants'], validate: () => [], authorize: variantAccess },
  { group: apiGroup, resources: ['packagevariantsets'], validate: () => [], authorize: setAccess },
]
