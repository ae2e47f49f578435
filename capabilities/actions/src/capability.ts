// Actions as a capability that the command composes.
import type { Capability, CapabilityInstance, CapabilityOptions, Manager, PolicyRule } from '@fairlead/controller'
import { apiGroup } from './api.ts'
import { setUpMapController } from './controllers/action-map-controller.ts'
import { setUpMappingController } from './controllers/mapping-controller.ts'
import { defaults } from './defaults/default-objects.ts'
import { crds } from './generated/crds.ts'
import { Sandbox } from './sandbox/sandbox.ts'
import { ActionService } from './runtime/action-service.ts'
import { LiveCatalog } from './runtime/live-catalog.ts'
import { KindTable } from './runtime/kind-table.ts'
import { Rights } from './runtime/rights.ts'
import { routesOf } from './routes/action-routes.ts'

/** What the controller needs: mappings and maps to read. Targets and Jobs are the callers' own business. */
const rules: readonly PolicyRule[] = [
  {
    apiGroups: [apiGroup],
    resources: ['kindactionmappings'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [apiGroup], resources: ['kindactionmappings/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
  // A cluster may demand it of whoever sets blockOwnerDeletion.
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
  async setup(manager) {
    const source = new LiveCatalog(manager)
    const sandbox = new Sandbox()
    setUpMappingController(manager)
    setUpMapController(manager)
    const service = new ActionService({
      source,
      kinds: new KindTable(manager.client),
      rights: new Rights(manager.clock),
      runSnippet: sandbox.run,
      clock: manager.clock,
    })
    return {
      service,
      routes: routesOf(service),
      async stop() {
        source[Symbol.dispose]()
        await sandbox[Symbol.asyncDispose]()
      },
    }
  },
  commands: async () => (await import('./commands/index.ts')).commands,
}
