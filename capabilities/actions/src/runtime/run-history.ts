// Runs that were created: list, outcome, logs, deletion. Start with RunHistory.list.
import { Pod, isClientError } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isForbidden } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { ActionError } from '../engine/action-error.ts'
import type { CatalogSource } from '../engine/catalog.ts'
import { asData } from '../engine/data/map-data.ts'
import { Job, isFinished, jobTypeLabel } from '../engine/runs/job.ts'
import { runOf, runSelector, runsOf } from '../engine/runs/run.ts'
import type { Run, RunFilter } from '../engine/runs/run.ts'
import { recordedUser } from '../engine/runs/run-record.ts'
import { configName, jobSettings, kappnavNamespace } from '../engine/runs/settings.ts'
import type { Delegate } from './delegate.ts'
import type { Caller } from './rights.ts'

/** The log of one pod of a run. */
export interface PodLog {
  readonly pod: string
  readonly text: string
}

/** Reads runs with the rights of callers, and those that the server created for a caller with its own. */
export class RunHistory {
  readonly #source: CatalogSource
  readonly #delegate: Delegate | undefined

  constructor(source: CatalogSource, delegate: Delegate | undefined) {
    this.#source = source
    this.#delegate = delegate
  }

  /** Returns the runs of command actions that the caller may see, newest first. */
  async list(caller: Caller, filter: RunFilter = {}): Promise<readonly Run[]> {
    return runsOf(await this.jobs(caller, filter.namespace), filter)
  }

  /**
   * Lists the Jobs of all runs, or of targets of one namespace: in the namespace of Jobs, and beside their targets,
   * where they are created by actions of untrusted maps and by `job-namespace: ${namespace}`.
   */
  async jobs(caller: Caller, ofTargetsIn?: string): Promise<readonly KubeObject[]> {
    await this.#source.loadMap?.(kappnavNamespace, configName)
    const config = asData(this.#source.configMap(kappnavNamespace, configName)?.data)
    const { namespace } = jobSettings(config, ofTargetsIn ?? '')
    if (namespace === '' || ofTargetsIn === undefined || ofTargetsIn === namespace)
      return this.#listIn(caller, namespace)
    // One of the two suffices: users of a namespace may often not list Jobs in kAppNav's.
    const found = await Promise.allSettled([this.#listIn(caller, namespace), this.#listIn(caller, ofTargetsIn)])
    const failed = found.filter((result) => result.status === 'rejected')
    const other = failed.find(({ reason }) => !isForbidden(reason))
    if (other !== undefined || failed.length === found.length) throw (other ?? failed[0]!).reason
    return found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  }

  /**
   * Waits until a run is finished, `timeout` milliseconds at most. Returns its state then. Throws ActionError 404 for a
   * Job of something else.
   */
  async outcome(caller: Caller, namespace: string, name: string, timeout: number): Promise<Run> {
    const { job, client } = await this.#find(caller, namespace, name)
    if (isFinished(job) || timeout <= 0) return runOf(job)
    const signal = caller.signal
    try {
      const key = { namespace, name }
      return runOf(await client.waitFor(Job, key, isFinished, { timeout, ...(signal === undefined ? {} : { signal }) }))
    } catch (error) {
      if (!isClientError(error, 'WaitTimeout')) throw error
      return runOf((await this.#find(caller, namespace, name)).job)
    }
  }

  /** Returns the logs of the pods of a run. */
  async logs(caller: Caller, namespace: string, name: string): Promise<readonly PodLog[]> {
    const { client } = await this.#find(caller, namespace, name)
    const { items } = await client.list(Pod, { namespace, labelSelector: { matchLabels: { 'job-name': name } } })
    const logs: PodLog[] = []
    for (const { metadata } of items) {
      const pod = metadata.name!
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`
      const text = await client.send({ method: 'GET', path })
      logs.push({ pod, text: typeof text === 'string' ? text : JSON.stringify(text) })
    }
    return logs
  }

  /** Deletes a run with its pods. Throws ActionError 404 for a Job of something else. */
  async delete({ client }: Caller, namespace: string, name: string): Promise<void> {
    const { metadata } = requireRun(await client.get(Job, { namespace, name }))
    const preconditions = { uid: metadata.uid!, resourceVersion: metadata.resourceVersion! }
    await client.delete(Job, { namespace, name }, { propagation: 'Background', preconditions })
  }

  /** Lists the runs of a namespace, '' for all; those that the server created for the caller if the caller may not. */
  async #listIn({ client, user }: Caller, namespace: string): Promise<readonly Job[]> {
    const scope = { ...(namespace === '' ? {} : { namespace }), labelSelector: runSelector }
    try {
      return (await client.list(Job, scope)).items
    } catch (error) {
      const delegate = this.#delegate
      if (!isForbidden(error) || namespace === '' || delegate === undefined || !(await delegate.mayRead(namespace)))
        throw error
      return (await delegate.client.list(Job, scope)).items.filter((job) => recordedUser(job) === user.name)
    }
  }

  /** Returns a run, and the client that may read it: the server's own for what it created for the caller. */
  async #find(
    { client, user }: Caller,
    namespace: string,
    name: string,
  ): Promise<{ readonly job: Job; readonly client: Client }> {
    const delegate = this.#delegate
    if (delegate !== undefined && (await delegate.mayRead(namespace))) {
      const job = await delegate.client.find(Job, { namespace, name })
      if (job !== undefined && recordedUser(job) === user.name) return { job: requireRun(job), client: delegate.client }
    }
    return { job: await client.get(Job, { namespace, name }), client }
  }
}

function requireRun(job: Job): Job {
  if (job.metadata.labels?.[jobTypeLabel] === 'command') return job
  const { namespace = '', name = '' } = job.metadata
  throw new ActionError(404, 'not-found', `Job ${namespace}/${name} is not a run of an action`)
}
