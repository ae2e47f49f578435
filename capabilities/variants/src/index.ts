// Public API of @fairlead/variants.
export { variants } from './capability.ts'
export { apiGroup, PackageVariantKind } from './api.ts'
export type { PackageVariant, PackageVariantSpec, PackageVariantStatus } from './api.ts'
