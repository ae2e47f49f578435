// Runs Jobs where there is no kubelet (specs/actions.md §6). Start with JobRunner.setUp.
import { Pod } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Controller, Known, Logger, Manager } from '@fairlead/controller'
import { DisposableStack, Slots, isConflict, isNotFound, isTerminating } from '@fairlead/kube'
import type { Clock } from '@fairlead/kube'
import { asData } from '../engine/data/map-data.ts'
import { Job, jobState } from '../engine/runs/job.ts'
import { JobRun, nodeName } from './job-run.ts'
import type { JobRunnerOptions } from './job-run.ts'
import { PodLogs } from './pod-logs.ts'

/** Milliseconds before a Job whose status could not be written is taken over again. */
const retryDelay = 5000

/** Pods that run at once by default: each is a process of this machine. */
const defaultRunning = 16

interface RunningJob {
  readonly stop: AbortController
  readonly done: Promise<void>
}

/** Runs Jobs. `logs` is the API server's option `podLogs`. */
export class JobRunner implements AsyncDisposable {
  readonly logs: PodLogs['read']
  readonly #options: JobRunnerOptions
  readonly #podLogs: PodLogs
  readonly #slots: Slots
  /** By the uid of the Job. */
  readonly #running = new Map<string, RunningJob>()
  /** Aborts the command of a running pod, by the uid of the pod. */
  readonly #commands = new Map<string, AbortController>()

  /** Subscriptions to the pods of the server. */
  readonly #pods = new DisposableStack()

  /** Creates a runner; it runs nothing before `setUp`. */
  constructor(options: JobRunnerOptions) {
    this.#options = options
    this.#podLogs = new PodLogs(options.logFolder)
    this.#slots = new Slots(options.maxRunning ?? defaultRunning)
    this.logs = this.#podLogs.read
  }

  /** Starts the controllers of Jobs and of their Pods. */
  setUp(manager: Manager): Controller<Job> {
    this.#followPods(manager)
    manager
      .controller('pod-runner')
      .for(Pod)
      .withOptions({ keepReady: false, manager: 'fairlead-job-runner' })
      .reconcile(({ object, client }) => this.#finishDeletion(object, client))
    const controller: Controller<Job> = manager
      .controller('job-runner')
      .for(Job)
      .withOptions({ keepReady: false, manager: 'fairlead-job-runner' })
      .onDeleted(() => this.#stopDeleted(controller.informer.read()))
      .reconcile(({ object, clock, log }) => {
        const uid = object.metadata.uid!
        const isFinished =
          isTerminating(object) ||
          jobState(object) === 'Succeeded' ||
          jobState(object) === 'Failed' ||
          asData(object.spec)['suspend'] === true
        if (isFinished) this.#running.get(uid)?.stop.abort()
        else if (!this.#running.has(uid))
          this.#start(object, manager.client.with({ manager: 'fairlead-job-runner' }), clock, log, () =>
            controller.enqueue({ namespace: object.metadata.namespace!, name: object.metadata.name! }),
          )
      })
    return controller
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pods.dispose()
    const running = [...this.#running.values()]
    for (const { stop } of running) stop.abort()
    await Promise.all(running.map(({ done }) => done))
  }

  /** Deletes the logs of deleted pods, and those of pods that were deleted while no runner worked. */
  #followPods(manager: Manager): void {
    const use = manager.use(Pod)
    const { informer } = use
    const subscription = informer.subscribe({
      changed: ({ type, object }) => {
        if (type === 'removed') this.#podLogs.delete(object.metadata.uid ?? '')
      },
      state: () => {
        const pods = informer.read()
        if (!pods.known) return
        this.#podLogs.keepOnly(new Set(Array.from(pods.objects.values(), ({ metadata }) => metadata.uid!)))
      },
    })
    this.#pods.use(subscription)
    this.#pods.use(use)
  }

  /** Finishes the deletion of a pod as its kubelet would: ends its command, then deletes it without grace period. */
  async #finishDeletion(pod: Pod, client: Client): Promise<void> {
    const { metadata } = pod
    if (!isTerminating(pod) || asData(pod.spec)['nodeName'] !== nodeName) return
    const command = this.#commands.get(metadata.uid!)
    // The status written after the command has ended triggers the next reconcile.
    if (command !== undefined) return command.abort()
    try {
      await client.delete(
        Pod,
        { namespace: metadata.namespace!, name: metadata.name! },
        { gracePeriod: 0, preconditions: { uid: metadata.uid!, resourceVersion: metadata.resourceVersion! } },
      )
    } catch (error) {
      // A change of the pod triggers the next reconcile.
      if (!isNotFound(error) && !isConflict(error)) throw error
    }
  }

  /** Stops the runs of deleted Jobs. Throws KindUnavailable while Jobs are unknown. */
  #stopDeleted(jobs: Known<Job>): undefined {
    if (!jobs.known) throw jobs.reason
    const present = new Set(Array.from(jobs.objects.values(), ({ metadata }) => metadata.uid))
    for (const [uid, { stop }] of this.#running) if (!present.has(uid)) stop.abort()
  }

  #start(job: Job, client: Client, clock: Clock, log: Logger, again: () => void): void {
    const uid = job.metadata.uid!
    const stop = new AbortController()
    const run = new JobRun({
      job,
      client,
      clock,
      stop,
      options: this.#options,
      podLogs: this.#podLogs,
      slots: this.#slots,
      commands: this.#commands,
    })
    const done = run
      .run()
      .then(
        () => false,
        async (error: unknown) => {
          if (isNotFound(error) || stop.signal.aborted) return false
          log.error('Could not run a Job', { namespace: job.metadata.namespace, name: job.metadata.name, error })
          await clock.sleep(retryDelay, stop.signal).catch(() => {})
          return !stop.signal.aborted
        },
      )
      .then((isRetried) => {
        this.#running.delete(uid)
        if (isRetried) again()
      })
    this.#running.set(uid, { stop, done })
  }
}
