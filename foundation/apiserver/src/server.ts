// ApiServer: the embedded API server as a value. `start` puts its parts together; `inject`, `client` and `listen` are its three doors.
import { randomUUID } from 'node:crypto'
import { Client, systemClock } from '@fairlead/client'
import type { Discovery, Transport } from '@fairlead/client'
import type { ResourceStorage, Route as CapabilityRoute, HookResolver, Validator } from '@fairlead/controller'
import type { Clock, UserInfo } from '@fairlead/kube'
import { AdmissionChain } from './admission/chain.ts'
import { LazyAggregator } from './aggregator/lazy-aggregator.ts'
import type { AdmissionPlugin } from './admission/plugin.ts'
import { validatingAdmissionPolicyPlugin } from './admission/policies/policy-plugin.ts'
import { mutatingWebhookPlugin } from './admission/webhooks/mutating-plugin.ts'
import { validatingWebhookPlugin } from './admission/webhooks/validating-plugin.ts'
import { capabilityValidatorsPlugin } from './admission/capability-validators.ts'
import { certificateAuthenticator, staticTokens } from './auth/authenticators.ts'
import { loadCertificates, makeCertificates } from './auth/certificates.ts'
import type { Certificates } from './auth/certificates.ts'
import { kubeconfigText } from './auth/kubeconfig-file.ts'
import type { StaticToken } from './auth/authenticators.ts'
import type { Authenticator } from './identity/credentials.ts'
import { alwaysAllow } from './auth/always-allow.ts'
import { issuerRoute } from './auth/issuer-route.ts'
import { bootstrapPolicy } from './auth/rbac/bootstrap-policy.ts'
import { rbacEscalationPlugin } from './admission/rbac-escalation.ts'
import { certificateSignersPlugin } from './admission/certificate-signers.ts'
import { RbacAuthorizer } from './auth/rbac/rbac-authorizer.ts'
import { RoleIndex } from './auth/rbac/role-index.ts'
import { ServiceAccountTokens } from './auth/service-account-tokens.ts'
import { tokenKey } from './auth/token-key.ts'
import { backupRoute } from './backup/backup-route.ts'
import { newNamespace, writeMissing } from './bootstrap.ts'
import { builtinResources } from '@fairlead/builtin-kinds'
import { internalControllers, startControllers } from './controllers/index.ts'
import type { InternalController } from './controllers/index.ts'
import { CustomResources } from './controllers/crd/custom-resources.ts'
import { ResourceStorages } from './resource-storage/resource-storages.ts'
import { discoveryRoute, openApiRoute, openApiV2Route } from './discovery/index.ts'
import type { ServerDependencies } from './handlers/server-dependencies.ts'
import { systemNamespaces } from './objects/namespace-rules.ts'
import { podHandlers } from './handlers/pods/pod-handlers.ts'
import { reviewHandlers } from './handlers/reviews.ts'
import { tokenHandler } from './handlers/token.ts'
import type { PodLogs } from './handlers/pods/log.ts'
import { KeyedMutex } from './storage/keyed-mutex.ts'
import { Handler } from './handler.ts'
import type { Route } from './http/route.ts'
import { listen } from './http/listener.ts'
import { upgrades } from './http/upgrade.ts'
import { injectRequest } from './in-process/inject.ts'
import type { InjectedRequest, InjectedResponse } from './in-process/inject.ts'
import { InProcessTransport } from './in-process/transport.ts'
import { publishService } from './kubernetes-service.ts'
import { metricsRoute } from './metrics/metrics-route.ts'
import { RequestMetrics } from './metrics/request-metrics.ts'
import { ObjectIndex } from './objects/object-index.ts'
import { protobufCodec } from './protobuf/protobuf-codec.ts'
import { Registry } from './registry/registry.ts'
import type { RegistryReader } from './registry/registry.ts'
import { CapabilityRoutes } from './routes/capability-routes.ts'
import { healthRoute, versionRoute } from './routes/health.ts'
import { serverVersion } from './server-version.ts'
import { memory } from './storage/memory.ts'
import type { Storage } from './storage/storage.ts'
import type { Store } from './storage/store.ts'
import { Views } from './views/views.ts'
import { serviceAddresses } from './webhooks/service-address.ts'
import { WebhookClient } from './webhooks/webhook-client.ts'

/** The controllers that live inside the server; `crd` looks after definitions of custom resources. */
export type ControllerName = InternalController | 'crd'

/** How a server is made. Everything has a default that suits tests. */
export interface ApiServerOptions {
  /** Where objects are kept; memory when left out. A Store that is handed in open is closed with the server. */
  readonly storage?: Storage | Store | Promise<Storage | Store>
  readonly clock?: Clock
  /** Which controllers run; all when left out. */
  readonly controllers?: false | readonly ControllerName[]
  /** Milliseconds between a cause and what a controller does about it; 0 when left out. */
  readonly controllerDelay?: number
  /** Bearer tokens given out by hand. */
  readonly tokens?: readonly StaticToken[]
  /** `AlwaysAllow`: everyone with credentials may do everything. Default. */
  readonly authorization?: 'AlwaysAllow' | 'RBAC'
  /** Checks of capabilities, run as admission. */
  readonly validators?: readonly Validator[]
  /** Further links of the admission chain, after the server's own. */
  readonly admission?: readonly AdmissionPlugin[]
  /** Where webhooks and extension servers are that are named by a Service (`name.namespace.svc`); asked before the Service's EndpointSlices. */
  readonly resolve?: HookResolver
  /** Whether requests for the groups of APIServices that lead to Services are handed on to those; true when left out. */
  readonly aggregation?: boolean
  /** Where `kubectl logs` reads from. */
  readonly podLogs?: PodLogs
  /** Further links of the chain that finds out who calls, after certificates and tokens. */
  readonly authenticators?: readonly Authenticator[]
  /** Called after a backup has been restored into the running server, before its caller is told: makes again what was made at the start. */
  readonly onRestored?: () => Promise<void>
  /** Endpoints beside the API. */
  readonly routes?: readonly Route[]
  /** Random numbers in [0, 1), for generated names and jitter. */
  readonly random?: () => number
  /** Told about errors that no request caused. */
  readonly onError?: (error: unknown) => void
}

/** Issuer and audience of service account tokens, as kubeadm's clusters name them. */
const tokenIssuer = 'https://kubernetes.default.svc.cluster.local'

/** Whom the controllers inside act as. */
const controllerManager: UserInfo = { name: 'system:kube-controller-manager', groups: ['system:masters'] }

/** Whom the server acts as towards itself. */
const apiServerUser: UserInfo = { name: 'system:apiserver', groups: ['system:masters'] }

/** Who in-process clients are when they are nobody in particular. */
const administrator: UserInfo = { name: 'system:admin', groups: ['system:masters'] }

/** An open port. */
export interface Listening {
  readonly url: string
  readonly host: string
  readonly port: number
  /** PEM of the authority behind the server's certificate. */
  readonly certificateAuthority: string
  /** YAML that kubectl and every other client read. */
  readonly kubeconfig: string
}

/** A Kubernetes-compatible API server in this process. Opens no port until {@link ApiServer.listen}. */
export class ApiServer implements AsyncDisposable {
  readonly store: Store
  readonly clock: Clock
  readonly #environment: ServerDependencies
  readonly #handler: Handler
  readonly #resources: AsyncDisposableStack
  readonly #certificates: () => Promise<Certificates>
  readonly #capabilityRoutes: CapabilityRoutes
  readonly #storages: ResourceStorages

  private constructor(
    environment: ServerDependencies,
    handler: Handler,
    capabilityRoutes: CapabilityRoutes,
    storages: ResourceStorages,
    certificates: () => Promise<Certificates>,
    resources: AsyncDisposableStack,
  ) {
    this.store = environment.store
    this.clock = environment.clock
    this.#environment = environment
    this.#handler = handler
    this.#capabilityRoutes = capabilityRoutes
    this.#storages = storages
    this.#resources = resources
    this.#certificates = certificates
  }

  /** Starts a server. Throws StoreError when the storage cannot be opened. */
  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    const clock = options.clock ?? systemClock
    await using resources = new AsyncDisposableStack()
    const storage = await (options.storage ?? memory())
    const opening = 'open' in storage ? storage.open({ clock }) : storage
    const folder = 'open' in storage ? storage.folder : undefined
    const certificates = lazyCertificates(folder, clock, Promise.resolve(opening))
    // A journal opens in a thread of its own. Meanwhile this one does what needs no store, and loads what the controllers will ask for; whoever asks
    // for the certificates hears of a failure.
    if (runs(options, 'service-account')) certificates().catch(() => undefined)
    const registry = new Registry(builtinResources())
    const [store] = await Promise.all([opening, options.controllers === false ? undefined : import('prom-client')])
    resources.use(store)
    const index = resources.use(await ObjectIndex.follow(store))
    const roles = options.authorization === 'RBAC' ? resources.use(await RoleIndex.follow(store)) : undefined
    const rbac = roles && { roles, authorizer: new RbacAuthorizer(roles) }
    const authorizer = rbac?.authorizer ?? alwaysAllow
    const tokens = new ServiceAccountTokens({
      key: await tokenKey(folder),
      issuer: tokenIssuer,
      audiences: [tokenIssuer],
      clock,
      store,
      newUid: randomUUID,
    })
    const authenticators = [
      certificateAuthenticator,
      staticTokens(options.tokens ?? []),
      tokens.authenticator(),
      ...(options.authenticators ?? []),
    ]
    const read: ServerDependencies['read'] = (resource, key) => index.get(resource, key)
    const list: ServerDependencies['list'] = (resource) => index.list(resource)
    const client = resources.use(
      new WebhookClient({ clock, resolve: serviceAddresses({ read, list, resolve: options.resolve }) }),
    )
    const webhooks = { client, authorizer, newUid: randomUUID, read, list }
    const onError = (error: unknown): void => options.onError?.(error)
    const endpoints = {
      ...podHandlers(options.podLogs),
      ...reviewHandlers({ authorizer, authenticators, tokens }),
      'serviceaccounts/token': tokenHandler(tokens),
    }
    const storages = new ResourceStorages(store, registry, endpoints, onError)
    const environment: ServerDependencies = {
      store: storages.store,
      registry,
      views: new Views(),
      clock,
      admission: new AdmissionChain([
        ...(rbac === undefined ? [] : [rbacEscalationPlugin(rbac), certificateSignersPlugin(authorizer)]),
        ...(options.validators === undefined ? [] : [capabilityValidatorsPlugin(options.validators)]),
        validatingAdmissionPolicyPlugin({ registry, authorizer, read, list }),
        mutatingWebhookPlugin(webhooks),
        validatingWebhookPlugin(webhooks),
        storages.link(),
        ...(options.admission ?? []),
      ]),
      authorizer,
      writeLocks: new KeyedMutex(),
      protobuf: protobufCodec,
      random: options.random ?? Math.random,
      newUid: randomUUID,
      handlers: storages.handlers,
      read,
      list,
    }
    let discovery: Discovery | undefined
    const clientOf = (user: UserInfo): Client => {
      discovery ??= new Client({ transport: new InProcessTransport(handler, administrator, 'fairlead-routes'), clock })
        .discovery
      return new Client({ transport: new InProcessTransport(handler, user, 'fairlead-routes'), clock }, discovery, {})
    }
    const writeBootstrap = (): Promise<void> =>
      writeMissing(environment, [
        ...systemNamespaces.map(newNamespace),
        ...(rbac === undefined ? [] : bootstrapPolicy()),
      ])
    await writeBootstrap()
    if (runs(options, 'crd')) {
      resources.use(
        await CustomResources.start(environment, { delay: options.controllerDelay ?? 0, webhooks, onError }),
      )
    }
    const capabilityRoutes = new CapabilityRoutes(clientOf)
    const metrics = new RequestMetrics(() => clock.monotonic())
    const handler: Handler = new Handler({
      server: environment,
      authenticators,
      authorizer,
      routes: [
        discoveryRoute(registry),
        openApiRoute(registry, clock, { openApiPaths: async () => (await gate?.openApiPaths()) ?? {} }),
        openApiV2Route(registry),
        issuerRoute(tokens),
        healthRoute([
          { name: 'ping', check: () => undefined },
          { name: 'etcd', check: () => store.lastError },
        ]),
        versionRoute(serverVersion),
        metricsRoute({ requests: metrics, registry, store, version: serverVersion }),
        backupRoute({
          store,
          clock,
          authorizer,
          server: serverVersion['gitVersion']!,
          restored: async () => {
            await writeBootstrap()
            await options.onRestored?.()
          },
        }),
        capabilityRoutes,
        ...(options.routes ?? []),
      ],
      upstreams: { resolve: (path) => gate?.resolve(path) },
      metrics,
      onError,
    })
    const gate =
      options.aggregation === false
        ? undefined
        : resources.use(
            new LazyAggregator({
              store,
              registry,
              client: new Client({
                transport: new InProcessTransport(handler, apiServerUser, 'kube-apiserver'),
                clock,
                manager: 'kube-apiserver',
              }),
              clientAuthority: async () => (await certificates()).ca.cert,
              onError,
              read,
              list,
              resolve: options.resolve,
            }),
          )
    const controllers = internalControllers.filter((name) => runs(options, name))
    if (controllers.length > 0) {
      const transport = new InProcessTransport(handler, controllerManager, 'kube-controller-manager')
      const inside = await startControllers({
        client: new Client({ transport, clock, manager: 'kube-controller-manager' }),
        resources: registry,
        controllers,
        delay: options.controllerDelay ?? 0,
        rootCertificate: async () => (await certificates()).ca.cert,
      })
      resources.use(inside)
    }
    return new ApiServer(environment, handler, capabilityRoutes, storages, certificates, resources.move())
  }

  /** What the server serves now. */
  get registry(): RegistryReader {
    return this.#environment.registry
  }

  /** Serves an endpoint of a capability from now on, with the rights of whoever calls it. */
  serve(route: CapabilityRoute): void {
    this.#capabilityRoutes.add(route)
  }

  /**
   * Serves an API resource of a capability from its own storage, until the server stops or the returned value is disposed.
   * Throws ResourceStorageError.
   */
  async addStorage(storage: ResourceStorage): Promise<Disposable> {
    const served = await this.#storages.add(storage)
    this.#resources.use(served)
    return served
  }

  /** Answers one request without a socket, in bytes, as over the wire. */
  inject(request: InjectedRequest): Promise<InjectedResponse> {
    return injectRequest(this.#handler, request)
  }

  /** A transport into this server; a member of system:masters when no one is named. */
  transport(options: { readonly as?: UserInfo; readonly userAgent?: string } = {}): Transport {
    return new InProcessTransport(this.#handler, options.as ?? administrator, options.userAgent ?? 'fairlead')
  }

  /** A client of this server; a member of system:masters when no one is named. */
  client(options: { readonly as?: UserInfo; readonly manager?: string; readonly namespace?: string } = {}): Client {
    const { as, ...rest } = options
    return new Client({ transport: this.transport(as === undefined ? {} : { as }), clock: this.clock, ...rest })
  }

  /**
   * Opens an HTTPS port, on loopback and any free port unless told otherwise. Throws ListenError.
   * Its kubeconfig is that of an administrator.
   */
  async listen(options: { readonly port?: number; readonly host?: string } = {}): Promise<Listening> {
    const { ca, server, admin } = await this.#certificates()
    const closed = new AbortController()
    const listener = await listen({
      tls: { ...server, clientCa: ca.cert },
      handle: (request) => this.#handler.handle(request),
      resolve: (method, path, query) => this.#handler.resolve(method, path, query),
      ...upgrades(this.#handler, closed.signal),
      clock: this.clock,
      ...options,
    })
    this.#resources.use(listener)
    this.#resources.defer(() => closed.abort(new Error('The server is closing.')))
    await publishService(this.client({ manager: 'kube-apiserver' }), listener)
    const kubeconfig = kubeconfigText({
      name: 'fairlead',
      server: listener.url,
      ca: ca.cert,
      user: { name: 'kubernetes-admin', certificate: admin },
    })
    return { url: listener.url, host: listener.host, port: listener.port, certificateAuthority: ca.cert, kubeconfig }
  }

  /** Stops everything that was started and closes the store. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync()
  }
}

function runs(options: ApiServerOptions, name: ControllerName): boolean {
  return options.controllers === undefined || (options.controllers !== false && options.controllers.includes(name))
}

/** Made when first needed; kept in the data folder where there is one. */
function lazyCertificates(
  folder: string | undefined,
  clock: Clock,
  opened: Promise<Store>,
): () => Promise<Certificates> {
  let made: Promise<Certificates> | undefined
  return () =>
    (made ??= folder === undefined ? makeCertificates({ clock }) : loadCertificates(folder, { clock }, opened))
}
