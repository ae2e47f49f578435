// ApiServer: the embedded API server as a value. `start` puts its parts together; `inject`, `client` and `listen` are its three doors.
import { randomUUID } from 'node:crypto'
import { Client, systemClock } from '@fairlead/client'
import type { Transport } from '@fairlead/client'
import type { Validator } from '@fairlead/controller'
import { asJson, formatKey, keyOf, parseApiVersion } from '@fairlead/kube'
import type { Clock, KubeObject } from '@fairlead/kube'
import { Admission } from './admission/admission.ts'
import type { AdmissionLink } from './admission/admission.ts'
import { validatorsLink } from './admission/validators.ts'
import { certificateAuthenticator, staticTokens } from './auth/authenticators.ts'
import type { StaticToken } from './auth/authenticators.ts'
import type { Authorizer, UserInfo } from './auth/user.ts'
import { alwaysAllow } from './admission/always-allow.ts'
import { bootstrapPolicy } from './auth/rbac/bootstrap-policy.ts'
import { RbacAuthorizer } from './auth/rbac/rbac-authorizer.ts'
import { RoleIndex } from './auth/rbac/role-index.ts'
import { builtinResources } from './builtin/index.ts'
import { CustomResources } from './custom/index.ts'
import { CustomResources } from './custom/index.ts'
import type { Environment } from './endpoints/environment.ts'
import { timestamp } from './endpoints/environment.ts'
import { systemNamespaces } from './endpoints/namespace-rules.ts'
import { Handler } from './handler.ts'
import type { Route } from './handler.ts'
import { injectRequest } from './in-process/inject.ts'
import type { InjectedRequest, InjectedResponse } from './in-process/inject.ts'
import { InProcessTransport } from './in-process/transport.ts'
import { ObjectIndex } from './objects/object-index.ts'
import { storedForm } from './objects/object-form.ts'
import { Registry } from './registry/registry.ts'
import { resourceName } from './registry/resource.ts'
import type { RegistryReader } from './registry/registry.ts'
import { healthRoute, versionRoute } from './routes/health.ts'
import { memory } from './storage/memory.ts'
import type { Storage } from './storage/storage.ts'
import type { Store } from './storage/store.ts'
import { StoreError } from './storage/store.ts'
import { Views } from './views/views.ts'

/** The controllers that live inside the server. */
export type ControllerName = 'namespace' | 'gc' | 'role-aggregation' | 'service-account' | 'crd' | 'events' | 'job-ttl'

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
  readonly admission?: readonly AdmissionLink[]
  /** Endpoints beside the API. */
  readonly routes?: readonly Route[]
  /** Random numbers in [0, 1), for generated names and jitter. */
  readonly random?: () => number
  /** Told about errors that no request caused. */
  readonly onError?: (error: unknown) => void
}

/** The version that the server reports. */
export const serverVersion: Readonly<Record<string, string>> = {
  major: '1',
  minor: '35',
  emulationMajor: '1',
  emulationMinor: '35',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '34',
  gitVersion: 'v1.35.4+fairlead',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'go1.25',
  compiler: 'gc',
  platform: 'linux/amd64',
}

/** Who in-process clients are when they are nobody in particular. */
const administrator: UserInfo = { name: 'system:admin', groups: ['system:masters'] }

/** A Kubernetes-compatible API server in this process. Opens no port until {@link ApiServer.listen}. */
export class ApiServer implements AsyncDisposable {
  readonly store: Store
  readonly clock: Clock
  readonly #environment: Environment
  readonly #handler: Handler
  readonly #resources: AsyncDisposableStack

  private constructor(environment: Environment, handler: Handler, resources: AsyncDisposableStack) {
    this.store = environment.store
    this.clock = environment.clock
    this.#environment = environment
    this.#handler = handler
    this.#resources = resources
  }

  /** Starts a server. Throws StoreError when the storage cannot be opened. */
  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    const clock = options.clock ?? systemClock
    await using resources = new AsyncDisposableStack()
    const store = resources.use(await openStore(options, clock))
    const index = resources.use(await ObjectIndex.follow(store))
    const registry = new Registry(builtinResources())
    const environment: Environment = {
      store,
      registry,
      views: new Views(),
      clock,
      admission: new Admission([...(options.validators === undefined ? [] : [validatorsLink(options.validators)]), ...(options.admission ?? [])]),
      random: options.random ?? Math.random,
      newUid: randomUUID,
      subresources: {},
      read: (resource, key) => index.get(resource, key),
    }
    const onError = (error: unknown): void => options.onError?.(error)
    await writeMissing(environment, systemNamespaces.map(newNamespace))
    const authorizer = await authorizerOf(options, environment, resources)
    if (runs(options, 'crd')) {
      resources.use(await CustomResources.start(environment, { delay: options.controllerDelay ?? 0, onError }))
    }
    resources.use(
      await CustomResources.start(environment, { delay: options.controllerDelay ?? 0, onError: (error) => options.onError?.(error) }),
    )
    const handler = new Handler({
      environment,
      authenticators: [certificateAuthenticator, staticTokens(options.tokens ?? [])],
      authorizer,
      routes: [healthRoute([{ name: 'ping', check: () => undefined }]), versionRoute(serverVersion), ...(options.routes ?? [])],
      protobuf: undefined,
      onError: (error) => options.onError?.(error),
    })
    return new ApiServer(environment, handler, resources.move())
  }

  /** What the server serves now. */
  get registry(): RegistryReader {
    return this.#environment.registry
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

  /** TEMPORARY */
  async listen(options: { readonly port?: number; readonly host?: string } = {}): Promise<{ port: number; certificateAuthority: string; url: string }> {
    const { readFileSync } = await import('node:fs')
    const { listen } = await import('./http/listener.ts')
    const cert = readFileSync('/tmp/tls/cert.pem', 'utf8')
    const key = readFileSync('/tmp/tls/key.pem', 'utf8')
    const l = await listen({ tls: { key, cert, clientCa: cert }, handle: (r) => this.#handler.handle(r), clock: this.clock, ...options })
    this.#resources.use(l)
    return { port: l.port, certificateAuthority: cert, url: l.url }
  }

  /** Stops everything that was started and closes the store. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync()
  }
}

async function openStore(options: ApiServerOptions, clock: Clock): Promise<Store> {
  const storage = await (options.storage ?? memory())
  return 'open' in storage ? storage.open({ clock }) : storage
}

function runs(options: ApiServerOptions, name: ControllerName): boolean {
  return options.controllers === undefined || (options.controllers !== false && options.controllers.includes(name))
}

/** RBAC with its bootstrap roles, or everyone with credentials. */
async function authorizerOf(options: ApiServerOptions, environment: Environment, resources: AsyncDisposableStack): Promise<Authorizer> {
  if (options.authorization !== 'RBAC') return alwaysAllow
  await writeMissing(environment, bootstrapPolicy())
  return new RbacAuthorizer(resources.use(await RoleIndex.follow(environment.store)))
}

/** Objects that a server has from its first start on. What is there already stays as it is. */
async function writeMissing(environment: Environment, objects: readonly KubeObject[]): Promise<void> {
  const { store, registry, clock, newUid } = environment
  const creationTimestamp = timestamp(clock.now())
  await Promise.all(
    objects.map(async (object) => {
      const { group, version } = parseApiVersion(object.apiVersion)
      const resource = registry.findKind(group, version, object.kind)
      if (resource === undefined) throw new Error(`no resource serves ${object.apiVersion} ${object.kind}`)
      const metadata = { ...object.metadata, uid: newUid(), creationTimestamp }
      const stored = storedForm(asJson({ ...object, metadata }))
      try {
        await store.write({ resource: resourceName(resource.definition), key: formatKey(keyOf(object)), expected: 0, object: stored })
      } catch (error) {
        if (!(error instanceof StoreError) || error.code !== 'Conflict') throw error
      }
    }),
  )
}

function newNamespace(name: string): KubeObject {
  return {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}
