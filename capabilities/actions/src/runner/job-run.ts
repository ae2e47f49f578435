// One Job from its first attempt to its end: a Pod for each attempt, with status, backoff and deadline as in a cluster.
import { Pod } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { asJson, condition, formatTime, isJsonArray, isJsonObject, isNotFound, ownerReferenceTo } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue, KubeObject, Slots } from '@fairlead/kube'
import { asData } from '../engine/data/map-data.ts'
import { Job } from '../engine/runs/job.ts'
import { launch } from './launch.ts'
import type { RunMode } from './launch.ts'
import type { PodLogs } from './pod-logs.ts'

/** Options of a job runner. */
export interface JobRunnerOptions {
  readonly mode: RunMode
  /**
   * Returns a kubeconfig with the rights of a service account; rejects when there is none. Pods get none when left out.
   */
  readonly kubeconfigFor?: (namespace: string, serviceAccount: string) => Promise<string>
  /** Folder for the logs of ended pods; kept in memory, up to a limit, when left out. */
  readonly logFolder?: string
  /** Maximum number of pods that run at once; 16 when left out. */
  readonly maxRunning?: number
}

/** Bytes that one pod may print. */
const maxOutput = 4 * 1024 * 1024
/** Milliseconds before the second attempt; doubled for each further one, as the Job controller of Kubernetes does. */
const firstBackoff = 10_000
const longestBackoff = 360_000
/** The node name of pods that run here. */
export const nodeName = 'fairlead'

interface JobRunParts {
  readonly job: Job
  readonly client: Client
  readonly clock: Clock
  /** Aborts the run: the Job was finished, deleted or suspended, or the runner closes. */
  readonly stop: AbortController
  readonly options: JobRunnerOptions
  readonly podLogs: PodLogs
  readonly slots: Slots
  /** Aborts the command of a running pod, by the uid of the pod. */
  readonly commands: Map<string, AbortController>
}

/** Runs one Job from its first attempt to its end. */
export class JobRun {
  readonly #parts: JobRunParts
  readonly #spec: JsonObject
  readonly #key: { readonly namespace: string; readonly name: string }
  #succeeded = 0
  #failed = 0
  #attempt = 0
  #isPastDeadline = false

  constructor(parts: JobRunParts) {
    this.#parts = parts
    this.#spec = asData(parts.job.spec)
    this.#key = { namespace: parts.job.metadata.namespace!, name: parts.job.metadata.name! }
  }

  async run(): Promise<void> {
    const { clock, stop, job, slots } = this.#parts
    const started = formatTime(Date.parse(String(asData(job.status)['startTime'] ?? '')) || clock.now())
    await this.#adoptPods()
    // A Job that an earlier runner left may still count a ready pod.
    await this.#report({ startTime: started, active: 0, ready: 0 })
    using _timer = this.#deadline(Date.parse(started))
    const completions = numberOf(this.#spec['completions'], 1)
    const limit = numberOf(this.#spec['backoffLimit'], 6)
    while (this.#succeeded < completions && this.#failed <= limit && !stop.signal.aborted) {
      if (this.#failed > 0 && this.#attempt > 0)
        await clock.sleep(Math.min(firstBackoff * 2 ** (this.#failed - 1), longestBackoff), stop.signal).catch(() => {})
      using slot = await slots.acquire(stop.signal)
      if (slot !== undefined) await this.#runPod()
    }
    if (this.#succeeded >= completions)
      return this.#finish('Complete', 'CompletionsReached', 'Reached expected number of succeeded pods')
    if (this.#isPastDeadline)
      return this.#finish('Failed', 'DeadlineExceeded', 'Job was active longer than specified deadline')
    if (this.#failed > limit)
      return this.#finish('Failed', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  }

  /** Ends the run when its deadline passes; a Job without a deadline has no limit. */
  #deadline(started: number): Disposable | undefined {
    const { clock, stop } = this.#parts
    const seconds = this.#spec['activeDeadlineSeconds']
    if (typeof seconds !== 'number') return undefined
    return clock.timer(Math.max(0, started + seconds * 1000 - clock.now()), () => {
      this.#isPastDeadline = true
      stop.abort()
    })
  }

  /** Adopts the pods of an earlier runner: finished ones are counted, running ones have failed with it. */
  async #adoptPods(): Promise<void> {
    const { client, job } = this.#parts
    const { items } = await client.list(Pod, {
      namespace: this.#key.namespace,
      labelSelector: { matchLabels: { 'batch.kubernetes.io/controller-uid': job.metadata.uid! } },
    })
    for (const pod of items) {
      const phase = asData(pod.status)['phase']
      if (phase === 'Succeeded') this.#succeeded++
      else {
        this.#failed++
        if (phase !== 'Failed')
          await this.#podStatus(pod, {
            phase: 'Failed',
            reason: 'RunnerRestarted',
            message: 'The runner was restarted while the pod ran',
          })
      }
    }
    this.#attempt = items.length
  }

  async #runPod(): Promise<void> {
    const { client, clock, stop, options, podLogs, commands } = this.#parts
    const pod = await client.create(this.#podFor(this.#attempt++))
    const uid = pod.metadata.uid!
    const container = containerOf(pod)
    const startedAt = formatTime(clock.now())
    podLogs.begin(uid)
    const running = {
      name: container['name'] ?? '',
      image: container['image'] ?? '',
      imageID: '',
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt } },
    }
    await this.#podStatus(pod, {
      phase: 'Running',
      startTime: startedAt,
      conditions: podConditions(true, startedAt),
      containerStatuses: [running],
    })
    await this.#report({ active: 1, ready: 1 })
    const command = new AbortController()
    commands.set(uid, command)
    const print = (chunk: Buffer): void => {
      if (command.signal.aborted || podLogs.add(uid, chunk) <= maxOutput) return
      command.abort()
      podLogs.add(uid, Buffer.from(`\nKilled: the output exceeded ${maxOutput} bytes.\n`))
    }
    let exitCode: number
    try {
      exitCode = await this.#exitCode(pod, container, options, print, AbortSignal.any([stop.signal, command.signal]))
    } finally {
      podLogs.end(uid)
      commands.delete(uid)
    }
    const finishedAt = formatTime(clock.now())
    const terminated = { exitCode, startedAt, finishedAt, reason: exitCode === 0 ? 'Completed' : 'Error' }
    if (exitCode === 0) this.#succeeded++
    else this.#failed++
    const status = {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      conditions: podConditions(false, finishedAt),
      containerStatuses: [{ ...running, ready: false, started: false, state: { terminated } }],
    }
    try {
      await this.#podStatus(pod, status)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    if (!stop.signal.aborted) await this.#report({ active: 0, ready: 0 })
  }

  async #exitCode(
    pod: KubeObject,
    container: JsonObject,
    { mode, kubeconfigFor }: JobRunnerOptions,
    print: (chunk: Buffer) => void,
    signal: AbortSignal,
  ): Promise<number> {
    const unsupported = unsupportedField(asData(pod.spec), container)
    if (unsupported !== undefined) {
      print(Buffer.from(`${unsupported} needs a kubelet, and this runner is none: the command was not started.\n`))
      return 127
    }
    const account = String(asData(pod.spec)['serviceAccountName'] ?? 'default')
    let kubeconfig: string | undefined
    try {
      kubeconfig = await kubeconfigFor?.(this.#key.namespace, account)
    } catch (error) {
      print(
        Buffer.from(`Service account ${this.#key.namespace}/${account} cannot be used: ${(error as Error).message}\n`),
      )
      return 1
    }
    const securityContext = { ...asData(asData(pod.spec)['securityContext']), ...asData(container['securityContext']) }
    return launch({ mode, uid: pod.metadata.uid!, container, securityContext, kubeconfig, print, signal })
  }

  #podFor(attempt: number): KubeObject {
    const { job } = this.#parts
    const template = asData(this.#spec['template'])
    const { labels, annotations } = asData(template['metadata'])
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        namespace: this.#key.namespace,
        name: `${this.#key.name.slice(0, 240)}-${attempt}`,
        labels: { ...asData(labels) } as Record<string, string>,
        ...(isJsonObject(annotations as JsonValue) ? { annotations: annotations as Record<string, string> } : {}),
        ownerReferences: [ownerReferenceTo(job, { controller: true, blockOwnerDeletion: true })],
      },
      spec: { ...asData(template['spec']), nodeName },
    }
  }

  async #finish(type: 'Complete' | 'Failed', reason: string, message: string): Promise<void> {
    const now = formatTime(this.#parts.clock.now())
    // The API server accepts a finished Job only with the condition that led to it.
    const cause = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget'
    const conditions = [cause, type].map((name) => ({
      ...condition(name, true, { reason, message }),
      lastProbeTime: now,
      lastTransitionTime: now,
    }))
    await this.#report({
      active: 0,
      ready: 0,
      ...(type === 'Complete' ? { completionTime: now } : {}),
      conditions: conditions.map(asJson),
    })
  }

  async #report(status: JsonObject): Promise<void> {
    const counts = {
      ...(this.#succeeded > 0 ? { succeeded: this.#succeeded } : {}),
      ...(this.#failed > 0 ? { failed: this.#failed } : {}),
    }
    await this.#parts.client.patch(
      Job,
      this.#key,
      { merge: { status: { ...counts, ...status } } },
      { subresource: 'status' },
    )
  }

  async #podStatus({ metadata }: KubeObject, status: JsonObject): Promise<void> {
    await this.#parts.client.patch(
      Pod,
      { namespace: metadata.namespace!, name: metadata.name! },
      { merge: { status } },
      { subresource: 'status' },
    )
  }
}

function podConditions(isReady: boolean, now: string): JsonValue {
  return ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    type,
    status: isReady || type === 'Initialized' || type === 'PodScheduled' ? 'True' : 'False',
    ...(isReady ? {} : { reason: 'PodCompleted' }),
    lastProbeTime: null,
    lastTransitionTime: now,
  }))
}

/** Returns the first container, the only one that runs; Jobs of actions have one. */
function containerOf(pod: KubeObject): JsonObject {
  const { containers } = asData(pod.spec)
  const [first] = isJsonArray(containers) ? containers : []
  return asData(first)
}

/** Returns the first field of a pod that would be ignored although its command may depend on it. */
function unsupportedField(spec: JsonObject, container: JsonObject): string | undefined {
  const listAt = (object: JsonObject, key: string): readonly JsonObject[] => {
    const value = object[key]
    return isJsonArray(value) ? value.filter(isJsonObject) : []
  }
  if (listAt(spec, 'initContainers').length > 0) return 'spec.initContainers'
  if (listAt(spec, 'containers').length > 1) return 'A second container'
  if (listAt(container, 'envFrom').length > 0) return 'envFrom'
  const reference = listAt(container, 'env').find((variable) => isJsonObject(variable['valueFrom'] ?? null))
  if (reference !== undefined) return `valueFrom of the variable ${String(reference['name'])}`
  const mount = listAt(container, 'volumeMounts').find(({ name }) => !String(name).startsWith('kube-api-access-'))
  return mount && `The volume mount ${String(mount['name'])}`
}

function numberOf(value: JsonValue | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}
