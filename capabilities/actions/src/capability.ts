// The capability: kind-action mapping (`actions.kappnav.io`).
import { CustomResourceDefinition } from '@fairlead/client'
import type { Capability, CapabilityInstance, CapabilityOptions, Manager, PolicyRule } from '@fairlead/controller'
import { AsyncDisposableStack } from '@fairlead/kube'
import { runRecordValidator } from './admission/run-record.ts'
import { apiGroup } from './api.ts'
import { startActionMapController } from './controllers/action-map-controller.ts'
import { startMappingController } from './controllers/mapping-controller.ts'
import { defaults } from './defaults/default-objects.ts'
import { crds } from './generated/crds.ts'
import { actionRoutes } from './routes/action-routes.ts'
import { ActionService } from './runtime/action-service.ts'
import { KindTable } from './runtime/kind-table.ts'
import { LiveCatalog } from './runtime/live-catalog.ts'
import { Rights } from './runtime/rights.ts'
import { Sandbox } from './sandbox/sandbox.ts'

/**
 * Rules of the controllers: they read mappings and maps. Targets are read and Jobs created with the rights of callers;
 * creating Jobs for callers takes a role in the namespace of Jobs (delegationRoles).
 */
const rules: readonly PolicyRule[] = [
  {
    apiGroups: [apiGroup],
    resources: ['kindactionmappings'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [apiGroup], resources: ['kindactionmappings/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [apiGroup], resources: ['actions'], verbs: ['record'] },
  // OwnerReferencesPermissionEnforcement requires it to set blockOwnerDeletion.
  { apiGroups: [''], resources: ['configmaps/finalizers'], verbs: ['update'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
]

/** Actions that were set up on a manager. */
export interface ActionsInstance extends CapabilityInstance {
  /** Menus, runs and history, for callers in the same process. */
  readonly service: ActionService
}

/** The capability of actions. */
export interface ActionsCapability extends Capability {
  setup(manager: Manager, options: CapabilityOptions): Promise<ActionsInstance>
}

/** Actions (`actions.kappnav.io`). */
export const actions: ActionsCapability = {
  name: 'actions',
  crds,
  rules,
  defaults,
  admission: [runRecordValidator],
  async setup(manager) {
    const resources = new AsyncDisposableStack()
    const source = resources.use(new LiveCatalog(manager))
    const sandbox = resources.use(new Sandbox())
    resources.use(startMappingController(manager))
    startActionMapController(manager)
    const kinds = new KindTable(manager.client)
    const definitions = resources.use(manager.use(CustomResourceDefinition))
    resources.use(definitions.informer.subscribe({ changed: () => kinds.reset() }, { replay: false }))
    const service = new ActionService({
      source,
      kinds,
      rights: new Rights(manager.clock),
      runSnippet: sandbox.run,
      clock: manager.clock,
      delegate: manager.client,
    })
    return {
      service,
      routes: actionRoutes(service),
      stop: () => resources.disposeAsync(),
    }
  },
  commands: async () => (await import('./commands/index.ts')).commands,
  relations: async () => (await import('./runtime/relations.ts')).relations,
}
