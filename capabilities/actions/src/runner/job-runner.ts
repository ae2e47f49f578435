// Runs Jobs where there is no kubelet (specs/actions.md §6). Start with JobRunner.setUp.
import { Pod } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import type { Controller, Known, Logger, Manager } from '@fairlead/controller'
import { isNotFound, isTerminating } from '@fairlead/kube'
import type { Clock } from '@fairlead/kube'
import { asData } from '../engine/data/map-data.ts'
import { Job, jobState } from '../engine/runs/job.ts'
import { JobRun, nodeName } from './job-run.ts'
import type { JobRunnerOptions } from './job-run.ts'
import { PodLogs } from './pod-logs.ts'

/** Milliseconds before a Job whose status could not be written is taken over again. */
const retryDelay = 5000

interface RunningJob {
  readonly stop: AbortController
  readonly done: Promise<void>
}

/** Runs Jobs. `logs` is the API server's option `podLogs`. */
export class JobRunner implements AsyncDisposable {
  readonly logs: PodLogs['read']
  readonly #options: JobRunnerOptions
  readonly #podLogs = new PodLogs()
  /** By the uid of the Job. */
  readonly #running = new Map<string, RunningJob>()
  /** Aborts the command of a running pod, by the uid of the pod. */
  readonly #commands = new Map<string, AbortController>()

  /** Creates a runner; it runs nothing before `setUp`. */
  constructor(options: JobRunnerOptions) {
    this.#options = options
    this.logs = this.#podLogs.read
  }

  /** Starts the controllers of Jobs and of their Pods. */
  setUp(manager: Manager): Controller<Job> {
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
    const running = [...this.#running.values()]
    for (const { stop } of running) stop.abort()
    await Promise.all(running.map(({ done }) => done))
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
        { gracePeriod: 0, preconditions: { uid: metadata.uid! } },
      )
    } catch (error) {
      if (!isNotFound(error)) throw error
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
