// The capability value of references, which the command line composes.
import type { Capability, PolicyRule } from '@fairlead/controller'
import { apiGroup } from './api.ts'
import { ReferenceRules } from './controllers/reference-rule-controller.ts'
import { crds } from './generated/crds.ts'

/**
 * The rights that do not depend on what rules name. Targets and sources are watched with rights granted by ClusterRoles
 * labelled `rbac.fairlead.dev/aggregate-to-references: "true"` (design decision 13), and written with the rights of
 * service accounts.
 */
const rules: readonly PolicyRule[] = [
  { apiGroups: [apiGroup], resources: ['referencerules', 'referencegrants'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [apiGroup], resources: ['referencerules/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
]

/** References (`references.fairlead.dev`). */
export const references: Capability = {
  name: 'references',
  crds,
  rules,
  commands: async () => (await import('./commands/index.ts')).commands,
  relations: async () => (await import('./runtime/relations.ts')).relations,
  async setup(manager) {
    const referenceRules = new ReferenceRules(manager)
    return { stop: () => referenceRules.stop() }
  },
}
