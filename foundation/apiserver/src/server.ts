// ApiServer: the embedded API server. `start` assembles it from the parts in startup/; requests come in by `inject`,
// `client` and `listen`.
import { randomUUID } from 'node:crypto'
import { builtinResources } from '@fairlead/builtin-kinds'
import { Client, systemClock } from '@fairlead/client'
import type { Transport } from '@fairlead/client'
import type { ResourceStorage, Route as CapabilityRoute } from '@fairlead/controller'
import type { Clock, UserInfo } from '@fairlead/kube'
import { AsyncDisposableStack } from '@fairlead/kube'
import { LazyAggregator } from './aggregator/lazy-aggregator.ts'
import type { Certificates, KeyPair } from './auth/certificates.ts'
import { kubeconfigText } from './auth/kubeconfig-file.ts'
import { CustomResources } from './controllers/crd/custom-resources.ts'
import { internalControllers, startControllers } from './controllers/index.ts'
import { Handler } from './handler.ts'
import type { ServerDependencies } from './handlers/server-dependencies.ts'
import { listen } from './http/listener.ts'
import { upgrades } from './http/upgrade.ts'
import { injectRequest } from './in-process/inject.ts'
import type { InjectedRequest, InjectedResponse } from './in-process/inject.ts'
import { InProcessTransport } from './in-process/transport.ts'
import { UserClients } from './in-process/user-clients.ts'
import { publishService } from './kubernetes-service.ts'
import { AuditLog } from './audit/audit-log.ts'
import { RequestMetrics } from './metrics/request-metrics.ts'
import { ObjectIndex } from './objects/object-index.ts'
import { Registry } from './registry/registry.ts'
import type { RegistryReader } from './registry/registry.ts'
import { ResourceStorages } from './resource-storage/resource-storages.ts'
import { CapabilityRoutes } from './routes/capability-routes.ts'
import { rootPathsRoute } from './routes/root-paths.ts'
import { startAccessControl } from './startup/access-control.ts'
import { writeBootstrapObjects } from './startup/bootstrap.ts'
import { openStorage } from './startup/open-storage.ts'
import { runsController } from './startup/options.ts'
import type { ApiServerOptions } from './startup/options.ts'
import { builtinHandlers, serverDependencies } from './startup/server-dependencies.ts'
import { serverRoutes } from './startup/server-routes.ts'
import { memory } from './storage/memory.ts'
import type { Store } from './storage/store.ts'
import { serviceAddresses } from './webhooks/service-address.ts'
import { WebhookClient } from './webhooks/webhook-client.ts'
import { apiServerUser } from './identity/well-known-users.ts'

/** The user of the controllers inside the server. */
const controllerManager: UserInfo = { name: 'system:kube-controller-manager', groups: ['system:masters'] }

/** The default user of in-process clients. */
const administrator: UserInfo = { name: 'system:admin', groups: ['system:masters'] }

/** An open port. */
export interface Listening {
  readonly url: string
  readonly host: string
  readonly port: number
  /** PEM of the authority of the server's certificate. */
  readonly certificateAuthority: string
  /** A kubeconfig, as YAML. */
  readonly kubeconfig: string
}

/** Options of {@link ApiServer.listen}. */
export interface ListeningOptions {
  /** 0, any free one, when left out. */
  readonly port?: number
  /** Loopback when left out. */
  readonly host?: string
  /** The serving certificate with its chain, and its key, in PEM; one of the server's own authority when left out. */
  readonly tls?: KeyPair
  /** Offers HTTP/2 beside HTTP/1.1; true when left out. */
  readonly http2?: boolean
  /** The IP address of the endpoints of the Service `kubernetes`; `host` when left out. */
  readonly advertiseAddress?: string
  /**
   * Creates a client certificate of an administrator for the kubeconfig; true when left out. Else the kubeconfig has no
   * user, and with `clientCa` and `tls` the server needs no authority of its own.
   */
  readonly administrator?: boolean
}

/** The parts of a running server. */
interface ServerParts {
  readonly dependencies: ServerDependencies
  readonly handler: Handler
  readonly capabilityRoutes: CapabilityRoutes
  readonly storages: ResourceStorages
  readonly certificates: () => Promise<Certificates>
  readonly adminCertificate: () => Promise<KeyPair>
  /** Authority of client certificates beside the server's own. */
  readonly clientCa: string | undefined
}

/** A Kubernetes-compatible API server in this process. Opens no port until {@link ApiServer.listen}. */
export class ApiServer implements AsyncDisposable {
  readonly store: Store
  readonly clock: Clock
  readonly #parts: ServerParts
  readonly #routeClients: UserClients
  readonly #resources: AsyncDisposableStack

  private constructor(parts: ServerParts, resources: AsyncDisposableStack) {
    this.store = parts.dependencies.store
    this.clock = parts.dependencies.clock
    this.#parts = parts
    this.#routeClients = new UserClients(parts.handler, this.clock, 'fairlead-routes', administrator)
    this.#resources = resources
  }

  /** Starts a server. Throws StoreError when the storage cannot be opened. */
  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    const clock = options.clock ?? systemClock
    await using resources = new AsyncDisposableStack()
    const opening = openStorage(await (options.storage ?? memory()), options, clock)
    const registry = new Registry(builtinResources())
    const { store, folder, certificates, adminCertificate } = await opening
    resources.use(store)
    const index = resources.use(await ObjectIndex.follow(store))
    const objects = {
      read: index.get.bind(index),
      list: index.list.bind(index),
      listNamespace: index.listNamespace.bind(index),
    }
    const access = await startAccessControl(options, { store, folder }, clock, resources)
    const onError = (error: unknown): void => options.onError?.(error)
    const storages = new ResourceStorages(store, registry, builtinHandlers(options, access, store), onError)
    const resolve = serviceAddresses({ ...objects, resolve: options.resolve })
    const client = resources.use(new WebhookClient({ clock, resolve }))
    const webhooks = { client, authorizer: access.authorizer, newUid: randomUUID, ...objects }
    const dependencyParts = { registry, clock, access, storages, webhooks, ...objects }
    const { dependencies, quotas } = serverDependencies(options, dependencyParts)
    await writeBootstrapObjects(dependencies, access)
    if (runsController(options, 'crd')) {
      const delay = options.controllerDelay ?? 0
      resources.use(await CustomResources.start(dependencies, { delay, webhooks, onError }))
    }
    const authority = async (): Promise<string> => (await certificates()).ca.cert
    const clientAuthority = async (): Promise<string> => options.clientCa ?? (await authority())
    const upstreams = resources.use(
      new LazyAggregator({ store, registry, clientAuthority, onError, resolve: options.resolve, ...objects }),
    )
    const capabilityRoutes = new CapabilityRoutes()
    const metrics = new RequestMetrics(() => clock.monotonic())
    const restored = async (): Promise<void> => {
      await writeBootstrapObjects(dependencies, access)
      await options.onRestored?.()
    }
    const routes = [
      ...serverRoutes({ store, registry, clock, access, upstreams, metrics, otherMetrics: options.metrics, restored }),
      capabilityRoutes,
      ...(options.routes ?? []),
    ]
    const handler = new Handler({
      server: dependencies,
      authenticators: access.authenticators,
      authorizer: access.authorizer,
      ...(options.anonymous === undefined ? {} : { anonymous: options.anonymous }),
      routes: [rootPathsRoute(routes), ...routes],
      upstreams,
      metrics,
      ...(options.audit === undefined ? {} : { audit: new AuditLog(options.audit, clock) }),
      ...(options.requestLimits === undefined ? {} : { limits: options.requestLimits }),
      onError,
    })
    const clientOf = (user: UserInfo, name: string): Client =>
      new Client({ transport: new InProcessTransport(handler, user, name), clock, manager: name })
    if (options.aggregation !== false) upstreams.start(clientOf(apiServerUser, 'kube-apiserver'))
    const controllers = internalControllers.filter((name) => runsController(options, name))
    if (controllers.length > 0) {
      const running = await startControllers({
        client: clientOf(controllerManager, 'kube-controller-manager'),
        resources: registry,
        controllers,
        delay: options.controllerDelay ?? 0,
        rootCertificate: authority,
        // The server has no key of an authority that its user has chosen.
        ...(options.clientCa === undefined && { clientAuthority: async () => (await certificates()).ca }),
        quotas,
      })
      resources.use(running)
    }
    const { clientCa } = options
    const parts = { dependencies, handler, capabilityRoutes, storages, certificates, adminCertificate, clientCa }
    return new ApiServer(parts, resources.move())
  }

  /** The served resources. */
  get registry(): RegistryReader {
    return this.#parts.dependencies.registry
  }

  /** Adds an HTTP route of a capability. Its client acts as the user of the request. */
  serve(route: CapabilityRoute): void {
    this.#parts.capabilityRoutes.add(route, (user) => this.#routeClients.of(user))
  }

  /**
   * Serves an API resource of a capability from its own storage, until the server stops or the returned value is
   * disposed. Throws ResourceStorageError.
   */
  async addStorage(storage: ResourceStorage): Promise<Disposable> {
    const served = await this.#parts.storages.add(storage)
    this.#resources.use(served)
    return served
  }

  /** Handles one request without a socket, with the same bytes as over the wire. */
  inject(request: InjectedRequest): Promise<InjectedResponse> {
    return injectRequest(this.#parts.handler, request)
  }

  /** Returns a transport into this server; its user is in system:masters unless `as` is set. */
  transport(options: { readonly as?: UserInfo; readonly userAgent?: string } = {}): Transport {
    return new InProcessTransport(this.#parts.handler, options.as ?? administrator, options.userAgent ?? 'fairlead')
  }

  /** Returns a client of this server; its user is in system:masters unless `as` is set. */
  client(options: { readonly as?: UserInfo; readonly manager?: string; readonly namespace?: string } = {}): Client {
    const { as, ...rest } = options
    return new Client({ transport: this.transport(as === undefined ? {} : { as }), clock: this.clock, ...rest })
  }

  /**
   * Opens an HTTPS port, by default a free one on loopback. Its kubeconfig is that of an administrator. Throws
   * ListenError.
   */
  async listen(options: ListeningOptions = {}): Promise<Listening> {
    const { certificates, adminCertificate, clientCa, handler } = this.#parts
    const { tls, administrator: hasAdministrator = true, advertiseAddress, ...address } = options
    const own = tls === undefined || hasAdministrator || clientCa === undefined ? await certificates() : undefined
    const certificate = hasAdministrator ? adminCertificate() : undefined
    // Awaited below, unless something else fails before.
    certificate?.catch(() => undefined)
    const closed = new AbortController()
    const listener = await listen({
      tls: { ...(tls ?? own!.server), clientCa: [own?.ca.cert, clientCa].filter((pem) => pem !== undefined) },
      handle: (request) => handler.handle(request),
      resolve: (method, path, query) => handler.resolve(method, path, query),
      ...upgrades(handler, closed.signal),
      clock: this.clock,
      ...address,
    })
    this.#resources.use(listener)
    this.#resources.defer(() => closed.abort(new Error('The server is closing.')))
    const { url, host, port } = listener
    const endpoint = { host: advertiseAddress ?? host, port }
    await publishService(this.client({ manager: 'kube-apiserver' }), endpoint, this.clock.now())
    const certificateAuthority = tls?.cert ?? own!.ca.cert
    const kubeconfig = kubeconfigText({
      name: 'fairlead',
      server: url,
      ca: certificateAuthority,
      // As kubectl takes it for granted; fabric8's client refuses requests without a namespace otherwise.
      namespace: 'default',
      ...(certificate && { user: { name: 'kubernetes-admin', certificate: await certificate } }),
    })
    return { url, host, port, certificateAuthority, kubeconfig }
  }

  /** Stops the server and closes the store. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync()
  }
}
