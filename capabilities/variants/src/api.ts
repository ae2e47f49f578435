// The types of `config.porch.kpt.dev` that this package reads and writes.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type {
  PackageVariantSetSpec,
  PackageVariantSetStatus,
  PackageVariantSpec,
  PackageVariantStatus,
} from './generated/crds.ts'

export type { PackageVariantSetSpec, PackageVariantSetStatus, PackageVariantSpec, PackageVariantStatus }

/** API group of variants and sets of variants. */
export const apiGroup = 'config.porch.kpt.dev'

/** A customised copy of a package that follows its upstream. */
export interface PackageVariant extends KubeObject {
  readonly spec: PackageVariantSpec
  readonly status?: PackageVariantStatus
}

/** Kind of {@link PackageVariant}. */
export const PackageVariantKind: Kind<PackageVariant> = kind(`${apiGroup}/v1alpha1`, 'PackageVariant')

/** Makes one PackageVariant for every target. */
export interface PackageVariantSet extends KubeObject {
  readonly spec: PackageVariantSetSpec
  readonly status?: PackageVariantSetStatus
}

/** Kind of {@link PackageVariantSet}. */
export const PackageVariantSetKind: Kind<PackageVariantSet> = kind(`${apiGroup}/v1alpha2`, 'PackageVariantSet')

/** Label of the variants of a set; its value is the uid of the set. */
export const setLabel = 'config.porch.kpt.dev/packagevariantset'
