// Assembles an extension API server. Loaded when one starts.
import { randomUUID } from 'node:crypto'
import { CertificateKeeper, InformerPool, servedHosts, silentLogger } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import { AsyncDisposableStack } from '@fairlead/kube'
import { AdmissionChain } from '../admission/chain.ts'
import { apiGroups } from '../discovery/api-groups.ts'
import { discoveryRoute, openApiRoute, openApiV2Route } from '../discovery/index.ts'
import { ResourceStorages } from '../resource-storage/resource-storages.ts'
import type { ServerDependencies } from '../handlers/server-dependencies.ts'
import { KeyedMutex } from '../storage/keyed-mutex.ts'
import { Handler } from '../handler.ts'
import { listen } from '../http/listener.ts'
import type { Listener, ListenerTls, ListenOptions } from '../http/listener.ts'
import { metricsRoute } from '../metrics/metrics-route.ts'
import { RequestMetrics } from '../metrics/request-metrics.ts'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import { protobufCodec } from '../protobuf/protobuf-codec.ts'
import { Registry } from '../registry/registry.ts'
import { healthRoute, versionRoute } from '../routes/health.ts'
import { serverVersion } from '../server-version.ts'
import { noJournal } from '../storage/journal.ts'
import { journaled } from '../storage/storage.ts'
import { Views } from '../views/views.ts'
import type { ExtensionServerOptions } from './extension-server.ts'
import { ApiServices } from './api-services.ts'
import type { GroupVersion } from './api-services.ts'
import { clusterAuthenticators } from './cluster-authenticators.ts'
import { ClusterNamespaces } from './cluster-namespaces.ts'
import { ClusterSettings } from './cluster-settings.ts'
import { DelegatingAuthorizer } from './delegating-authorizer.ts'

const defaultPort = 8443
const defaultGroupPriority = 1000

/** A readiness check; returns undefined when ready, else the problem. */
export interface Check {
  readonly name: string
  readonly check: () => string | undefined
}

/** The parts of a running extension API server. */
export interface ExtensionServerParts {
  readonly listener: Listener
  readonly certificates: CertificateKeeper
  readonly checks: readonly Check[]
  readonly stop: () => Promise<void>
}

/** Starts the parts of an extension API server. @throws ResourceStorageError, ListenError, StatusError */
export async function startParts(options: ExtensionServerOptions): Promise<ExtensionServerParts> {
  const { client, serving, log = silentLogger, shutdownDelay = 0 } = options
  const { clock, random } = client
  await using resources = new AsyncDisposableStack()
  const registry = new Registry()
  const informers = resources.use(new InformerPool(client, clock))
  const settings = resources.use(new ClusterSettings(informers, log))
  const namespaces = resources.use(new ClusterNamespaces(client, informers))
  const store = resources.use(await revisionCounter(clock).open({ clock }))
  const onError = (error: unknown): void => log.error('Could not handle a request', { error })
  const storages = new ResourceStorages(store, registry, {}, onError)
  for (const resource of options.resources) resources.use(await storages.add(resource))
  const authorizer = new DelegatingAuthorizer(client, clock)
  const dependencies: ServerDependencies = {
    store: storages.store,
    registry,
    views: new Views(),
    clock,
    admission: new AdmissionChain([namespaces.admissionPlugin(), storages.admissionPlugin()]),
    authorizer,
    writeLocks: new KeyedMutex(),
    protobuf: protobufCodec,
    random,
    newUid: randomUUID,
    handlers: storages.handlers,
    read: (resource, key) => (resource === 'namespaces.' ? namespaces.read(key) : undefined),
    list: () => [],
  }
  const { service, certificateSecret: secret } = serving
  const hosts = servedHosts(serving)
  const certificates = resources.use(
    await CertificateKeeper.start({ client, clock, random, log, hosts, ...(secret === undefined ? {} : { secret }) }),
  )
  const registration = {
    service,
    served: servedVersions(registry),
    groupPriority: options.groupPriority ?? defaultGroupPriority,
  }
  let stopping = false
  const checks: readonly Check[] = [
    { name: 'cluster-authentication', check: () => settings.problem },
    { name: 'namespaces', check: () => namespaces.problem },
    { name: 'apiservices', check: () => apiServices.problem },
    { name: 'shutdown', check: () => (stopping ? 'the server is stopping' : undefined) },
  ]
  const metrics = new RequestMetrics(() => clock.monotonic())
  const handler = new Handler({
    server: dependencies,
    authenticators: clusterAuthenticators(() => settings.current, client, clock),
    authorizer,
    routes: [
      discoveryRoute(registry),
      openApiRoute(registry, clock),
      openApiV2Route(registry),
      healthRoute(checks),
      versionRoute(serverVersion),
      metricsRoute({ requests: metrics, registry, store, version: serverVersion }),
    ],
    metrics,
    onError,
  })
  const tls = (): ListenerTls => {
    const { clientAuthorities, frontProxy } = settings.current
    const pems = [clientAuthorities.pem, frontProxy?.authorities.pem ?? '']
    return { ...certificates.current.serving, clientCa: pems.filter((pem) => pem !== '') }
  }
  const listener = resources.use(
    await listenOn(serving.host, {
      tls: tls(),
      handle: async (request) => closeUntrusted(await handler.handle(request), request),
      resolve: (method, path, query) => handler.resolve(method, path, query),
      clock,
      port: serving.port ?? defaultPort,
    }),
  )
  const bundle = (): string => certificates.current.bundle
  const apiServices = resources.use(new ApiServices(registration, { client, informers, clock, log, bundle }))
  settings.onChange(() => listener.renew(tls()))
  // The settings may have changed while the port was opening.
  listener.renew(tls())
  certificates.onRenewed(() => {
    listener.renew(tls())
    apiServices.renew()
  })
  const started = resources.move()
  const stop = async (): Promise<void> => {
    stopping = true
    if (shutdownDelay > 0) await clock.sleep(shutdownDelay)
    await started.disposeAsync()
  }
  return { listener, certificates, checks, stop }
}

/**
 * Closes the connection of a client with an untrusted certificate after a 401. The certificate is verified once per
 * connection: a client whose new authority was not known yet must reconnect to be accepted.
 */
function closeUntrusted(response: ServerResponse, { credentials }: ServerRequest): ServerResponse {
  if (response.status !== 401 || credentials.untrusted !== true) return response
  return { ...response, headers: { ...response.headers, connection: 'close' } }
}

/** Listens on all addresses without `host`: of IPv6 and IPv4, or of IPv4 alone where IPv6 is unavailable. */
async function listenOn(host: string | undefined, options: ListenOptions): Promise<Listener> {
  if (host !== undefined) return listen({ ...options, host })
  try {
    return await listen({ ...options, host: '::' })
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    if (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL') throw error
    return listen({ ...options, host: '0.0.0.0' })
  }
}

/**
 * Returns a storage that counts revisions and stores nothing. It starts at the current time, so that revisions after a
 * restart are above those that clients have: they list again instead of missing changes.
 */
function revisionCounter(clock: Clock): ReturnType<typeof journaled> {
  return journaled({ ...noJournal, open: async () => ({ revision: clock.now(), compactedRevisions: new Map() }) })
}

function servedVersions(registry: Registry): readonly GroupVersion[] {
  return apiGroups(registry).flatMap(({ name, versions }) => versions.map(({ version }) => ({ group: name, version })))
}
