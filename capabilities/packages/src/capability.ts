// The capability: packages of configuration in git (`porch.kpt.dev`, `config.porch.kpt.dev`).
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Namespace } from '@fairlead/client'
import { SettingError } from '@fairlead/controller'
import type { Capability, PolicyRule, ResourceStorage } from '@fairlead/controller'
import { AsyncDisposableStack } from '@fairlead/kube'
import { validators } from './admission/validators.ts'
import { configGroup, RepositoryKind } from './api.ts'
import { startRepositoryController } from './controllers/repository-controller.ts'
import { crds } from './generated/crds.ts'
import { timeouts } from './git/git-process.ts'
import { signedWebhookRoute } from './routes/signed-webhook-route.ts'
import { webhookRoute } from './routes/webhook-route.ts'
import { readWebhookSecret } from './runtime/credentials.ts'
import { PackageRenderer } from './runtime/functions/package-renderer.ts'
import { makeEngine } from './runtime/make-engine.ts'
import { PackageService } from './runtime/package-service.ts'
import { Repositories } from './runtime/repositories.ts'
import { RevisionStates } from './runtime/revision-states.ts'
import {
  packageColumns,
  packageDefinition,
  packageFields,
  packageRevisionColumns,
  packageRevisionDefinition,
  previewDefinition,
  resourcesColumns,
  resourcesDefinition,
  revisionFields,
} from './storage/definitions.ts'
import { PackageRevisionStorage } from './storage/package-revision-storage.ts'
import { PackageStorage } from './storage/package-storage.ts'
import { PreviewStorage } from './storage/preview-storage.ts'
import { ResourcesStorage } from './storage/resources-storage.ts'
import { tagSubresource } from './storage/tag-subresource.ts'

/** Rules of the controller. Content is read and written with the rights of the caller on PackageRevisions. */
const rules: readonly PolicyRule[] = [
  { apiGroups: [configGroup], resources: ['repositories'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [configGroup], resources: ['repositories/status'], verbs: ['patch'] },
  {
    apiGroups: [configGroup],
    resources: ['packagerevs'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'],
  },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
]

/** Maximum size of the files of one package in a request, in bytes. */
const maxPackageBytes = 16 * 1024 * 1024

/** Packages (`porch.kpt.dev`). */
export const packages: Capability = {
  name: 'packages',
  crds,
  served: [packageRevisionDefinition, previewDefinition, resourcesDefinition, packageDefinition],
  rules,
  admission: validators,
  settings: ['git-timeout'],
  relations: async () => (await import('./runtime/relations.ts')).relations,
  async setup(manager, { dataFolder, isEmbedded, settings }) {
    const gitTimeout = gitTimeoutOf(settings)
    const resources = new AsyncDisposableStack()
    // The first repository creates it: a server without one leaves no trace.
    const folder = dataFolder ?? join(tmpdir(), `fairlead-packages-${randomUUID()}`)
    if (dataFolder === undefined) resources.defer(() => rm(folder, { recursive: true, force: true }))
    const objects = resources.use(manager.use(RepositoryKind))
    // An embedded server without a folder is in memory, Repositories and all; those of a cluster stay.
    const keepsRepositories = dataFolder !== undefined || isEmbedded !== false
    const repositories = resources.use(new Repositories(manager, { folder, keepsRepositories, gitTimeout }, objects))
    const states = new RevisionStates(manager.client)
    const engine = makeEngine(resources.use(new PackageRenderer()))
    const { client, access } = manager
    const namespaces = resources.use(manager.use(Namespace)).informer
    const service = resources.use(new PackageService({ repositories, states, engine, client, access, namespaces }))
    const packageStorage = new PackageStorage(repositories)
    const controller = startRepositoryController(manager, repositories, states)
    // The first to stop: a run that meets a closed repository would report it.
    resources.defer(() => {
      repositories.stopReading()
      return controller.stop()
    })
    const storages: readonly ResourceStorage[] = [
      {
        definition: packageRevisionDefinition,
        storage: new PackageRevisionStorage(service),
        subresources: ['approval', tagSubresource(service)],
        columns: packageRevisionColumns,
        selectableFields: revisionFields,
        maxObjectBytes: maxPackageBytes,
        maxBodyBytes: maxPackageBytes,
      },
      {
        definition: previewDefinition,
        storage: new PreviewStorage(service),
        maxObjectBytes: maxPackageBytes,
        maxBodyBytes: maxPackageBytes,
      },
      {
        definition: resourcesDefinition,
        storage: new ResourcesStorage(service),
        columns: resourcesColumns,
        selectableFields: revisionFields,
        maxObjectBytes: maxPackageBytes,
        maxBodyBytes: maxPackageBytes,
      },
      {
        definition: packageDefinition,
        storage: packageStorage,
        columns: packageColumns,
        selectableFields: packageFields,
      },
    ]
    return {
      storages,
      routes: [webhookRoute((key) => controller.enqueue(key))],
      signedRoutes: [
        signedWebhookRoute({
          leads: () => manager.leads,
          repository: (key) => repositories.object(key),
          webhookSecret: (key) => readWebhookSecret(manager.client, key, manager.signal),
          sync: (key) => controller.enqueue(key),
        }),
      ],
      stop: () => resources.disposeAsync(),
    }
  },
}

/** Milliseconds that git may take with a remote (`--set packages.git-timeout=SECONDS`). @throws SettingError */
function gitTimeoutOf(settings: ReadonlyMap<string, string> | undefined): number {
  const value = settings?.get('git-timeout')
  if (value === undefined) return timeouts.remote
  const seconds = Number(value)
  if (!/^\d+$/.test(value) || seconds < 1 || seconds > 3600)
    throw new SettingError(`git-timeout=${value}: write a number of seconds from 1 to 3600`)
  return seconds * 1000
}
