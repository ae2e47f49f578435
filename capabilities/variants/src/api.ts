// The types of `config.porch.kpt.dev` that this package reads and writes.
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { PackageVariantSpec, PackageVariantStatus } from './generated/crds.ts'

export type { PackageVariantSpec, PackageVariantStatus }

/** API group of variants and sets of variants. */
export const apiGroup = 'config.porch.kpt.dev'

/** A customised copy of a package that follows its upstream. */
export interface PackageVariant extends KubeObject {
  readonly spec: PackageVariantSpec
  readonly status?: PackageVariantStatus
}

/** Kind of {@link PackageVariant}. */
export const PackageVariantKind: Kind<PackageVariant> = kind(`${apiGroup}/v1alpha1`, 'PackageVariant')
