// The capability value of the controllers of metacontroller.k8s.io, which the command line composes.
import type { Capability, PolicyRule } from '@fairlead/controller'
import { mapControllerAccess } from './admission/required-access.ts'
import { apiGroup } from './api.ts'
import { MapControllers } from './controllers/map-controller.ts'
import { crds } from './generated/crds.ts'

/**
 * The rights that every map controller needs. The kinds that a MapController names are granted by ClusterRoles
 * labelled `rbac.fairlead.dev/aggregate-to-metacontroller: "true"` (design decision 13); `fairlead map rbac` prints them.
 */
const rules: readonly PolicyRule[] = [
  { apiGroups: [apiGroup], resources: ['mapcontrollers'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [apiGroup], resources: ['mapcontrollers/status'], verbs: ['patch'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['services'], verbs: ['get'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list'] },
  // Watched while a right is missing, to continue as soon as it is granted.
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
]

/** The controllers of `metacontroller.k8s.io`. */
export const metacontroller: Capability = {
  name: 'metacontroller',
  aliases: ['map'],
  crds,
  rules,
  admission: [mapControllerAccess],
  async setup(manager, options) {
    const controllers = new MapControllers(manager, options)
    return { relations: (object) => controllers.relations(object), stop: () => controllers.stop() }
  },
  async commands() {
    return (await import('./commands/index.ts')).commands
  },
}
