// The capability value of AWS resources, which the command line composes.
import type { Capability, PolicyRule } from '@fairlead/controller'
import { ResourceControllers } from './controllers/resource-controller.ts'
import { flagNames, parseFlags, withResync } from './engine/flags.ts'
import { resourceKinds } from './engine/kinds.ts'
import { crds } from './generated/crds.ts'
import { AwsConnection, regionOf } from './runtime/connection.ts'

const groups = [...new Set(resourceKinds.map(({ group }) => group))]

/** The finalizer and the annotations are the only writes beside the status. */
const rules: readonly PolicyRule[] = [
  ...groups.flatMap((group): PolicyRule[] => {
    const plurals = resourceKinds.filter((kind) => kind.group === group).map(({ plural }) => plural)
    return [
      { apiGroups: [group], resources: plurals, verbs: ['get', 'list', 'watch', 'patch'] },
      { apiGroups: [group], resources: plurals.map((plural) => `${plural}/status`), verbs: ['patch'] },
    ]
  }),
  // Their annotations place resources.
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['references.fairlead.dev'], resources: ['referencegrants'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
]

/** IAM and SageMaker resources (`iam.services.k8s.aws`, `sagemaker.services.k8s.aws`). */
export const aws: Capability = {
  name: 'aws',
  crds,
  rules,
  settings: flagNames,
  relations: async () => (await import('./runtime/relations.ts')).relations,
  async setup(manager, { isEmbedded = false, settings = new Map() }) {
    // On a machine of one person the references of ACK's samples work as they are; a cluster needs grants.
    const flags = parseFlags(settings, resourceKinds, { crossNamespace: isEmbedded })
    const { env: environment } = process
    const connection = new AwsConnection({
      environment,
      fakeAllowed: isEmbedded,
      log: manager.log,
      clock: manager.clock,
    })
    const controllers = new ResourceControllers(manager, {
      kinds: resourceKinds.map((kind) => withResync(kind, flags)),
      resources: (kind, region, _object, endpoint) => connection.manager(kind, region, endpoint),
      settings: {
        deletionPolicy: flags.deletionPolicy,
        lateInitialize: flags.lateInitialize,
        resync: flags.resync,
        ...(flags.endpointUrls === undefined ? {} : { endpointUrls: flags.endpointUrls }),
        ...(flags.accountId === undefined ? {} : { accountId: flags.accountId }),
        ...(flags.resourceTags === undefined ? {} : { tags: flags.resourceTags }),
        region: regionOf(environment),
      },
      crossNamespace: flags.crossNamespace,
    })
    return {
      async stop() {
        controllers[Symbol.dispose]()
        await connection[Symbol.asyncDispose]()
      },
    }
  },
}
