// The capability value of package variants, which the command line composes.
import { SettingError } from '@fairlead/controller'
import type { Capability, CapabilityOptions, PolicyRule } from '@fairlead/controller'
import { porchGroup } from '@fairlead/packages'
import { validators } from './admission/validators.ts'
import { apiGroup } from './api.ts'
import { startApprovalController } from './controllers/approval-controller.ts'
import { startPackageVariantController } from './controllers/package-variant-controller.ts'
import { PackageVariantSetController } from './controllers/package-variant-set-controller.ts'
import { crds } from './generated/crds.ts'

/** Rules of the controller of sets. */
const setRules: readonly PolicyRule[] = [
  { apiGroups: [apiGroup], resources: ['packagevariantsets'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [apiGroup], resources: ['packagevariantsets/status'], verbs: ['patch'] },
  // Variants block the deletion of their set.
  { apiGroups: [apiGroup], resources: ['packagevariantsets/finalizers'], verbs: ['update'] },
  {
    apiGroups: [apiGroup],
    resources: ['packagevariants'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [apiGroup], resources: ['repositories'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [porchGroup], resources: ['packagerevisions'], verbs: ['get', 'list', 'watch'] },
]

/**
 * Rules of the controller of variants. Kinds to inject beside ConfigMaps are granted by ClusterRoles labelled
 * `rbac.fairlead.dev/aggregate-to-variants: "true"` (design decision 13). Secrets are never injected.
 */
const variantRules: readonly PolicyRule[] = [
  { apiGroups: [apiGroup], resources: ['packagevariants'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [apiGroup], resources: ['packagevariants/status'], verbs: ['patch'] },
  // Revisions name their variant as controller.
  { apiGroups: [apiGroup], resources: ['packagevariants/finalizers'], verbs: ['update'] },
  { apiGroups: [apiGroup], resources: ['repositories'], verbs: ['get', 'list', 'watch'] },
  {
    apiGroups: [porchGroup],
    resources: ['packagerevisions'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'],
  },
  { apiGroups: [porchGroup], resources: ['packagerevisionresources'], verbs: ['get', 'update'] },
  { apiGroups: [porchGroup], resources: ['packagerevisionpreviews'], verbs: ['create'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
]

/**
 * Rule of the approval controller. Sets need it as well: admission requires it of who writes a variant that asks for
 * approval.
 */
const approvalRules: readonly PolicyRule[] = [
  { apiGroups: [porchGroup], resources: ['packagerevisions/approval'], verbs: ['update'] },
]

const rules: readonly PolicyRule[] = [...variantRules, ...setRules, ...approvalRules]

/** Package variants and sets of them (`config.porch.kpt.dev`). */
export const variants: Capability = {
  name: 'variants',
  crds,
  rules,
  admission: validators,
  commands: async () => (await import('./commands/index.ts')).commands,
  relations: async () => (await import('./runtime/relations.ts')).relations,
  settings: ['approval'],
  async setup(manager, { settings }) {
    const isApproving = approvalSetting(settings)
    startPackageVariantController(manager)
    if (isApproving) startApprovalController(manager)
    const sets = new PackageVariantSetController(manager)
    return { stop: async () => sets[Symbol.dispose]() }
  },
}

/** Returns whether drafts are approved by rule; off when the setting is left out. @throws SettingError */
function approvalSetting(settings: CapabilityOptions['settings']): boolean {
  const value = settings?.get('approval') ?? 'false'
  if (value !== 'true' && value !== 'false') throw new SettingError(`approval=${value}: write true or false`)
  return value === 'true'
}
