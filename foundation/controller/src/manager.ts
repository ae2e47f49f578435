// The manager: one client, shared caches, controllers, leader election, graceful shutdown. Start with Manager.start.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { groupKindName, keepAlive, serviceAccountLogin } from '@fairlead/client'
import type { Client, KindLike } from '@fairlead/client'
import type { Clock, KubeObject } from '@fairlead/kube'
import { AsyncDisposableStack } from '@fairlead/kube'
import { AccessReviews, serviceAccountSubject } from './access/access-reviews.ts'
import type { AccessSubject } from './access/access-reviews.ts'
import { ReaderOnBehalf } from './access/reader-on-behalf.ts'
import { RecordedAccess } from './access/recorded-access.ts'
import type { PolicyRule } from './policy-rule.ts'
import { installDefinitions } from './definitions.ts'
import { EventRecorder } from './event-recorder.ts'
import { InformerPool } from './informer/informer-pool.ts'
import type { InformerUse } from './informer/informer-pool.ts'
import type { InformerScope } from './informer/informer.ts'
import { LeaderElection } from './leader-election.ts'
import type { LeaderElectionOptions } from './leader-election.ts'
import { guardedLogger, silentLogger } from './logger.ts'
import type { Logger } from './logger.ts'
import { Metrics } from './metrics.ts'
import { EndpointWaiters } from './queue/endpoint-waiters.ts'
import { ControllerBuilder } from './reconcile/builder.ts'
import type { Controller } from './reconcile/controller.ts'
import type { Reader } from './work/reader.ts'
import { WorkLoop } from './work/work-loop.ts'
import type { WorkLoopOptions } from './work/work-loop-options.ts'
import { Shards } from './shards/shards.ts'
import type { ShardOptions } from './shards/shards.ts'
import { keepCaBundles } from './server/ca-bundles.ts'
import { CertificateKeeper } from './server/certificate-keeper.ts'
import { ManagerServer, servedHosts } from './server/manager-server.ts'
import type { ManagerServerOptions } from './server/manager-server.ts'
import { WriteFence } from './write-fence.ts'

/** Options of a manager. */
export interface ManagerOptions {
  /** The client of the manager and its controllers; the caller closes it. */
  readonly client: Client
  /** Sets controllers up; called once, after the definitions are served. */
  readonly setup?: (manager: Manager) => unknown
  /** Applied before anything else. */
  readonly crds?: readonly KubeObject[]
  /** The client's when left out. */
  readonly clock?: Clock
  /** Random numbers in [0, 1), for jitter and names; the client's when left out. */
  readonly random?: () => number
  /** Silent when left out. */
  readonly logger?: Logger
  /**
   * Only the elected leader of several processes works; all work when left out. Every process keeps its caches warm.
   */
  readonly leaderElection?: Omit<LeaderElectionOptions, 'identity'> & { readonly identity?: string }
  /**
   * Several processes share the work, each with a part of the namespaces; in place of an election. Every process keeps
   * its caches warm.
   */
  readonly shards?: ShardOptions
  /**
   * Another manager of this process whose election or shards this one takes part in, in place of its own: it works
   * while that one leads, stops with it, and its caches count for the readiness of that one's server.
   */
  readonly follows?: Manager
  /** The metrics to add to, where managers of one process share them; its own when left out. */
  readonly metrics?: Metrics
  /** Serves health, metrics and webhooks; nothing when left out. Every replica serves, leader or not. */
  readonly server?: ManagerServerOptions
  /** Called once, when this process begins to work: it leads, or there is no election. */
  readonly onStartedLeading?: () => void
  /** Called when leadership was lost: the process should exit, as another leader works now. */
  readonly onLeadershipLost?: () => void
}

/** The identity that {@link Manager.as} acts as. */
export interface ActAs {
  readonly serviceAccount: { readonly namespace: string; readonly name: string }
}

interface Runnable {
  readonly loop: WorkLoop<never>
}

/**
 * Runs controllers. `await using manager = await Manager.start({ client, setup })`. Keeps the process alive until it is
 * stopped, whether or not the API server is reachable.
 */
export class Manager implements AsyncDisposable {
  readonly client: Client
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly metrics: Metrics
  /** Shared caches. */
  readonly informers: InformerPool
  /** Work that waits for remote endpoints. */
  readonly endpoints: EndpointWaiters = new EndpointWaiters()
  /** Aborts when the manager begins to stop. */
  readonly signal: AbortSignal
  /** Unique to this process; in leases and events. */
  readonly identity: string
  /** The shards of this process, where processes share the work. */
  readonly shards: Shards | undefined
  readonly #stop = new AbortController()
  /** Aborts when no run is in progress any more: the lease is renewed until then. */
  readonly #idle = new AbortController()
  readonly #fence: WriteFence
  readonly #alive = keepAlive()
  readonly #runnables = new Set<Runnable>()
  readonly #startedLeading: (() => void) | undefined
  readonly #follows: Manager | undefined
  readonly #followers = new Set<Manager>()
  readonly #recorders = new Map<string, EventRecorder>()
  readonly #election: LeaderElection | undefined
  /** Access reviews of other subjects. */
  readonly access: AccessReviews
  readonly #served = new AsyncDisposableStack()
  readonly #acting = new Map<string, Client>()
  readonly #used: RecordedAccess
  #server: ManagerServer | undefined
  #isSetUp = false
  #working = false
  #leading: Promise<void> | undefined
  #sharing: Promise<void> | undefined
  #stopped: Promise<void> | undefined

  private constructor(options: ManagerOptions, metrics: Metrics, access: RecordedAccess) {
    const { leaderElection, shards, follows } = options
    this.#fence = follows === undefined ? new WriteFence() : follows.#fence
    this.client = options.client.withTransport(this.#fence.over(options.client.transport))
    this.#used = access
    this.clock = options.clock ?? options.client.clock
    this.random = options.random ?? options.client.random
    this.log = guardedLogger(options.logger ?? silentLogger)
    this.metrics = metrics
    this.signal = this.#stop.signal
    this.informers = new InformerPool(this.client, this.clock, this.log)
    this.access = new AccessReviews(this.client, this.informers, this.clock)
    if ([leaderElection, shards, follows].filter((given) => given !== undefined).length > 1)
      throw new TypeError('A manager takes part in an election, shares work by shards or follows another, not several')
    this.#startedLeading = options.onStartedLeading
    this.#follows = follows
    if (follows !== undefined) follows.#followers.add(this)
    this.identity = leaderElection?.identity ?? shards?.identity ?? follows?.identity ?? `${hostname()}_${randomUUID()}`
    this.shards = follows?.shards
    // The Leases themselves are written through no fence.
    const { clock, random, log } = this
    const host = { client: options.client, clock, random, log }
    if (leaderElection !== undefined) {
      const election = new LeaderElection({ ...leaderElection, identity: this.identity }, host)
      this.#election = election
      this.#fence.isClosed = () => election.mayBeReplaced
    }
    if (shards !== undefined) {
      const own = new Shards({ ...shards, identity: this.identity }, host, {
        gained: (shard) => {
          for (const loop of this.#loops()) loop.shardGained(shard)
        },
        leaving: async (shard) => {
          await Promise.all([...this.#loops()].map((loop) => loop.shardLeft(shard)))
        },
      })
      this.shards = own
      this.#fence.isClosed = () => own.mayBeReplaced
    }
  }

  /**
   * Applies the definitions, sets up the controllers and starts them. Resolves as soon as they may run; their caches
   * sync in the background.
   */
  static async start(options: ManagerOptions): Promise<Manager> {
    const metrics = options.metrics ?? Metrics.create()
    const access = new RecordedAccess()
    const client = options.client.withTransport(access.over(options.client.transport))
    if (options.crds !== undefined) await installDefinitions(client, options.crds)
    const manager = new Manager({ ...options, client }, await metrics, access)
    try {
      manager.informers.watchDefinitions()
      if (options.server !== undefined) await manager.#serve(options.server)
      await options.setup?.(manager)
    } catch (error) {
      await manager.stop()
      throw error
    }
    if (options.shards !== undefined) manager.#sharing = manager.shards!.run(manager.signal)
    manager.#isSetUp = true
    if (options.follows !== undefined) {
      if (options.follows.leads) manager.#work()
    } else if (manager.#election === undefined) manager.#work()
    else manager.#leading = manager.#lead(manager.#election, options.onLeadershipLost)
    return manager
  }

  /** Reports whether this process works: it leads, or there is no election. */
  get leads(): boolean {
    return this.#working
  }

  /** Its HTTPS server; undefined when it was started without. */
  get server(): ManagerServer | undefined {
    return this.#server
  }

  /**
   * Reports whether this process works on a namespace (on cluster-scoped objects when left out): it owns the shard, or
   * the work is not shared.
   */
  owns(namespace?: string): boolean {
    return this.shards === undefined || this.shards.owns(this.shards.shardOf(namespace))
  }

  /**
   * Returns the rights that the manager and its controllers have made use of so far, as rules of a ClusterRole: after
   * the tests of an operator, those that it needs.
   */
  rights(): readonly PolicyRule[] {
    return this.#used.rules()
  }

  /** Builds a controller; its name is unique in the manager. */
  controller(name: string): ControllerBuilder {
    return new ControllerBuilder(
      {
        loop: (options) => this.#makeLoop(options),
        recorder: (controller) => this.recorder(controller),
        launch: (controller: Controller) => this.#launch(controller.loop as unknown as WorkLoop<never>),
      },
      name,
    )
  }

  /**
   * Creates a work loop over custom items, for what {@link Manager.controller} cannot express. Runs with the manager;
   * stop it with its `stop`.
   */
  loop<T>(options: WorkLoopOptions<T>): WorkLoop<T> {
    const loop = this.#makeLoop(options)
    this.#launch(loop as unknown as WorkLoop<never>)
    return loop
  }

  /** Uses a shared cache until disposed. */
  use<T extends KubeObject>(kind: KindLike<T>, scope?: InformerScope): InformerUse<T> {
    return this.informers.use(kind, scope)
  }

  /** Returns the event recorder of a controller. */
  recorder(controller: string): EventRecorder {
    let recorder = this.#recorders.get(controller)
    if (recorder === undefined) {
      recorder = new EventRecorder({
        client: this.client,
        clock: this.clock,
        random: this.random,
        log: this.log,
        controller,
        instance: this.identity,
      })
      this.#recorders.set(controller, recorder)
    }
    return recorder
  }

  /**
   * Returns a client that acts as a service account, with its rights only: in process by impersonation, else with
   * tokens that are requested and renewed. The manager's account needs `impersonate` on it, or `create` on
   * `serviceaccounts/token`.
   */
  as({ serviceAccount }: ActAs): Client {
    const { client } = this
    const subject = serviceAccountSubject(serviceAccount)
    // The API server adds the groups of the account: no right to impersonate groups is needed.
    if (client.transport.withLogin === undefined) return client.as({ user: subject.user })
    let acting = this.#acting.get(subject.user)
    if (acting === undefined) {
      acting = client.withTransport(
        this.#served.use(client.transport.withLogin(() => serviceAccountLogin(client, serviceAccount))),
      )
      this.#acting.set(subject.user, acting)
    }
    return acting
  }

  /**
   * Returns a reader that reads on behalf of a subject: only what the subject may get or list, by SubjectAccessReviews
   * that are cached for 10 seconds or until RBAC objects change. Reads throw StatusError 403 where it may not.
   */
  onBehalfOf(who: ActAs | AccessSubject, reader: Reader): Reader {
    const subject = 'user' in who ? who : serviceAccountSubject(who.serviceAccount)
    return new ReaderOnBehalf(reader, subject, this.client, this.access)
  }

  /**
   * Stops gracefully: lets runs in progress end (within `grace` milliseconds, 30,000 when left out), releases the
   * lease, ends all watches. Called again with a shorter `grace`, it waits no longer than that.
   */
  stop(grace?: number): Promise<void> {
    if (this.#stopped === undefined) this.#stopped = this.#end(grace)
    else void this.#stopWork(grace)
    return this.#stopped
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #serve(options: ManagerServerOptions): Promise<void> {
    const { client, clock, random, log, metrics } = this
    const certificates = this.#served.use(
      await CertificateKeeper.start({
        client,
        clock,
        random,
        log,
        hosts: servedHosts(options),
        secret: options.certificateSecret,
      }),
    )
    const elected = this.#election ?? this.shards
    const checks = [
      { name: 'informers', check: () => this.#notListed() },
      ...(elected === undefined ? [] : [{ name: 'lease', check: () => elected.problem }]),
      ...(options.checks ?? []),
    ]
    this.#server = this.#served.use(
      await ManagerServer.start({ ...options, checks }, { client, clock, log, metrics, certificates }),
    )
    const { caBundles = [] } = options
    if (caBundles.length === 0) return
    const loop = keepCaBundles(
      (loopOptions) => this.loop(loopOptions),
      caBundles,
      () => certificates.current.bundle,
    )
    certificates.onRenewed(() => {
      for (const target of caBundles) loop.add(target)
    })
  }

  #notListed(): string | undefined {
    const kinds = [this, ...this.#followers].flatMap(({ informers }) => informers.syncing())
    return kinds.length === 0 ? undefined : `not listed yet: ${kinds.map(groupKindName).join(', ')}`
  }

  #makeLoop<T>(options: WorkLoopOptions<T>): WorkLoop<T> {
    for (const { loop } of this.#runnables) {
      if (loop.name === options.name)
        throw new Error(`There is a controller "${options.name}" already; give each its own name`)
    }
    return new WorkLoop<T>(options, {
      ...this.#host(),
      metrics: this.metrics.controller(options.name, options.concurrency ?? 1),
    })
  }

  #host(): Pick<Manager, 'client' | 'informers' | 'endpoints' | 'clock' | 'random' | 'log' | 'shards'> {
    const { client, informers, endpoints, clock, random, log, shards } = this
    return { client, informers, endpoints, clock, random, log, shards }
  }

  #launch(loop: WorkLoop<never>): void {
    const runnable: Runnable = { loop }
    this.#runnables.add(runnable)
    loop.onStopped(() => this.#runnables.delete(runnable))
    if (this.#working) this.#startOne(runnable)
  }

  #work(): void {
    this.#working = true
    for (const runnable of this.#runnables) this.#startOne(runnable)
    for (const follower of this.#followers) if (follower.#isSetUp) follower.#work()
    this.#startedLeading?.()
  }

  /** Returns its own work loops and those of the managers that follow it. */
  *#loops(): Iterable<WorkLoop<never>> {
    for (const { loop } of this.#runnables) yield loop
    for (const follower of this.#followers) yield* follower.#loops()
  }

  /** Waits for the caches: a reconcile must not treat objects that are not listed yet as missing. */
  #startOne({ loop }: Runnable): void {
    void loop.synced(this.signal).then(
      () => loop.start(),
      () => {},
    )
  }

  async #lead(election: LeaderElection, lost: (() => void) | undefined): Promise<void> {
    try {
      await election.acquire(this.signal)
    } catch {
      return
    }
    this.metrics.leading('manager', true)
    this.#work()
    const outcome = await election.hold(this.#idle.signal)
    this.metrics.leading('manager', false)
    if (outcome === 'lost') {
      for (const manager of [this, ...this.#followers]) manager.#working = false
      // Another leader works now: runs in progress must end at once.
      void this.stop(0)
      lost?.()
    }
  }

  async #end(grace: number | undefined): Promise<void> {
    using _alive = this.#alive
    this.#stop.abort(new DOMException('The manager was stopped', 'AbortError'))
    await this.#stopWork(grace)
    if (this.#follows !== undefined) this.#follows.#followers.delete(this)
    await Promise.all([...this.#recorders.values()].map((recorder) => recorder.flush()))
    this.#idle.abort(new DOMException('The manager was stopped', 'AbortError'))
    await this.#leading
    await this.#election?.release()
    await this.#sharing
    if (this.#follows === undefined) await this.shards?.stop()
    await this.#served.disposeAsync()
    this.access[Symbol.dispose]()
    await this.informers.stop()
  }

  async #stopWork(grace: number | undefined): Promise<void> {
    await Promise.all([
      ...[...this.#followers].map((follower) => follower.stop(grace)),
      ...[...this.#runnables].map(({ loop }) => loop.stop(grace)),
    ])
  }
}
