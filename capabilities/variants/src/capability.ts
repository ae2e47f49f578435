// The capability value of package variants, which the command line composes.
import type { Capability, PolicyRule } from '@fairlead/controller'
import { apiGroup } from './api.ts'
import { crds } from './generated/crds.ts'

const rules: readonly PolicyRule[] = [
  { apiGroups: [apiGroup], resources: ['packagevariants'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [apiGroup], resources: ['packagevariants/status'], verbs: ['patch'] },
  { apiGroups: [apiGroup], resources: ['repositories'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
]

/** Package variants and sets of them (`config.porch.kpt.dev`). */
export const variants: Capability = {
  name: 'variants',
  crds,
  rules,
  async setup() {
    return { stop: async () => undefined }
  },
}
