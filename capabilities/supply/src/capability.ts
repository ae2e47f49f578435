// The capability value of supply chains, which the command line composes.
import type { Capability, PolicyRule } from '@fairlead/controller'
import { apiGroup } from './api.ts'
import { startControllers } from './controllers/supply-controllers.ts'
import { crds } from './generated/crds.ts'
import { validators } from './admission/validators.ts'

/**
 * The rights that do not depend on what templates stamp. Stamped objects are written with the rights of the owners'
 * service accounts; the controller itself only watches their kinds, granted by ClusterRoles labelled
 * `rbac.fairlead.dev/aggregate-to-supply: "true"` (design decision 13).
 */
const rules: readonly PolicyRule[] = [
  { apiGroups: [apiGroup], resources: ['*'], verbs: ['get', 'list', 'watch'] },
  {
    apiGroups: [apiGroup],
    resources: [
      'workloads/status',
      'deliverables/status',
      'runnables/status',
      'clustersupplychains/status',
      'clusterdeliveries/status',
    ],
    verbs: ['patch'],
  },
  { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get', 'list', 'watch', 'impersonate'] },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
]

/** Supply chains (`carto.run`). */
export const supply: Capability = {
  name: 'supply',
  crds,
  rules,
  admission: validators,
  commands: async () => (await import('./commands/index.ts')).commands,
  relations: async () => (await import('./runtime/relations.ts')).relations,
  async setup(manager) {
    startControllers(manager)
    // The manager stops the controllers.
    return { stop: async () => undefined }
  },
}
