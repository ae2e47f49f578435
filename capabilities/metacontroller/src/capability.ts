// The capability value of the controllers of metacontroller.k8s.io, which the command line composes.
import type { Capability, PolicyRule } from '@fairlead/controller'
import { controllerAccess } from './admission/required-access.ts'
import { apiGroup } from './api.ts'
import { compositeControllers } from './composite/composite-controllers.ts'
import { MapControllers } from './controllers/map-controller.ts'
import { decoratorControllers } from './decorator/decorator-controllers.ts'
import { crds } from './generated/crds.ts'
import { callServices } from './hook/call-services.ts'
import { parseSettings, settingNames } from './sync/settings.ts'

const controllers = ['mapcontrollers', 'compositecontrollers', 'decoratorcontrollers']

/**
 * The rights that every map controller needs. The kinds that a MapController names are granted by ClusterRoles
 * labelled `rbac.fairlead.dev/aggregate-to-metacontroller: "true"` (design decision 13); `fairlead map rbac` prints
 * them.
 */
const rules: readonly PolicyRule[] = [
  { apiGroups: [apiGroup], resources: controllers, verbs: ['get', 'list', 'watch'] },
  { apiGroups: [apiGroup], resources: controllers.map((plural) => `${plural}/status`), verbs: ['patch'] },
  {
    apiGroups: [apiGroup],
    resources: ['controllerrevisions'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
  },
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
  admission: controllerAccess,
  settings: settingNames,
  async setup(manager, options) {
    const settings = parseSettings(options.settings ?? new Map())
    const calls = callServices(manager, options, settings.hookHosts)
    const maps = new MapControllers(manager, options, calls)
    const dependencies = { ...calls, settings }
    const others = [compositeControllers(manager, dependencies), decoratorControllers(manager, dependencies)]
    return {
      stop: async () => {
        await Promise.all(others.map((controllers) => controllers.stop()))
        await maps.stop()
      },
    }
  },
  async commands() {
    return (await import('./commands/index.ts')).commands
  },
  async relations() {
    return (await import('./relations/relations.ts')).relations
  },
}
