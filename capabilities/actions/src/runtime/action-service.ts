// The service of actions. It reads targets and writes Jobs with the caller's rights. Start with ActionService.menu.
import { randomUUID } from 'node:crypto'
import { ConfigMap, Pod, isClientError } from '@fairlead/client'
import { StatusError, asJson, forbidden } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { apiGroup } from '../api.ts'
import { ActionError, asActionError } from '../engine/action-error.ts'
import {
  applicationApi,
  componentKindsOf,
  componentNamespaces,
  hiddenAnnotation,
  isComponent,
  selectorOf,
} from '../engine/application.ts'
import type { CatalogSource, Resolution } from '../engine/catalog.ts'
import type { ResourceKind } from '../engine/cluster.ts'
import { asData } from '../engine/data/map-data.ts'
import { availabilityOf } from '../engine/enablement.ts'
import { functionsFor } from '../engine/functions.ts'
import { NamespaceCluster } from '../engine/namespace-cluster.ts'
import { liveTargetOf } from '../engine/mapping/target.ts'
import type { Target } from '../engine/mapping/target.ts'
import type { ActionType } from '../engine/maps/action-map.ts'
import { findAction, scopeOf } from '../engine/maps/merge.ts'
import type { MergedAction } from '../engine/maps/merge.ts'
import type { Section } from '../engine/maps/section-map.ts'
import type { RunSnippet } from '../engine/maps/snippet.ts'
import { evaluateStatus, unknownStatus } from '../engine/maps/status-map.ts'
import type { ResourceStatus } from '../engine/maps/status-map.ts'
import { menuOf, whyOf } from '../engine/menu.ts'
import type { Menu, Why } from '../engine/menu.ts'
import { PatternResolver } from '../engine/patterns/pattern-resolver.ts'
import type { PatternScope } from '../engine/patterns/pattern-resolver.ts'
import { PatternError } from '../engine/patterns/pattern.ts'
import { planCommand, requiredField } from '../engine/runs/command.ts'
import { Job, jobTypeLabel } from '../engine/runs/job.ts'
import type { JobSettings } from '../engine/runs/job.ts'
import { runSelector, runsOf } from '../engine/runs/run.ts'
import type { Run, RunFilter } from '../engine/runs/run.ts'
import {
  configName,
  jobSettings,
  kappnavNamespace,
  unknownWord,
  untrustedJobSettings,
} from '../engine/runs/settings.ts'
import type { KindTable } from './kind-table.ts'
import { LiveCluster } from './live-cluster.ts'
import { runRight } from './rights.ts'
import type { Caller, Right, Rights, Rules } from './rights.ts'

/** Names a resource. Without apiVersion, the kind is looked up as kubectl does. */
export interface ResourceRef {
  readonly apiVersion?: string | undefined
  readonly kind: string
  /** `default` when left out. */
  readonly namespace?: string | undefined
  readonly name: string
}

/** Options of a run. */
export interface RunOptions {
  readonly inputs?: JsonValue | undefined
  readonly application?: { readonly name: string; readonly namespace: string } | undefined
  /** Validates the run and creates no Job. */
  readonly dryRun?: boolean | undefined
}

/** An Application or one of its components, with its menu and status. */
export interface WithMenu extends Menu {
  readonly status: ResourceStatus
}

/** Dependencies of the service. */
export interface ActionServiceOptions {
  readonly source: CatalogSource
  readonly kinds: KindTable
  readonly rights: Rights
  readonly runSnippet: RunSnippet
  readonly clock: Clock
}

/** Serves menus, runs and history. Errors that callers can cause are ActionErrors or StatusErrors. */
export class ActionService {
  readonly #options: ActionServiceOptions

  constructor(options: ActionServiceOptions) {
    this.#options = options
  }

  /** Returns the actions of a resource. */
  async menu(caller: Caller, ref: ResourceRef): Promise<Menu> {
    const { resource, resolution } = await this.#resolve(caller, ref)
    return menuOf(resolution, resource, await this.#mayUse(caller, resolution))
  }

  /** Returns the actions of a resource with their provenance. */
  async why(caller: Caller, ref: ResourceRef): Promise<Why> {
    const { resource, resolution } = await this.#resolve(caller, ref)
    return whyOf(resolution, resource, await this.#mayUse(caller, resolution))
  }

  /** Resolves the actions of a resource that the caller may read. */
  async resolve(caller: Caller, ref: ResourceRef): Promise<Resolution> {
    return (await this.#resolve(caller, ref)).resolution
  }

  /** Resolves the actions of an object that the caller has read. */
  async resolveObject(object: KubeObject): Promise<Resolution> {
    return this.resolveTarget(liveTargetOf(object, kappnavNamespace))
  }

  /** Resolves the actions of a target that need not exist. */
  async resolveTarget(target: Target): Promise<Resolution> {
    const { source } = this.#options
    await source.load?.(target)
    return source.catalog().resolveTarget(target)
  }

  /** Returns the time of this server in milliseconds since the epoch. */
  now(): number {
    return this.#options.clock.now()
  }

  /** Returns the namespace of Jobs for targets of a namespace. */
  jobNamespace(namespace = 'default'): string {
    return jobSettings(this.#config(), namespace).namespace
  }

  /** Checks that the caller may get the mappings and maps of a namespace. Throws StatusError 403. */
  async authorizeMappings(caller: Caller, namespace: string): Promise<void> {
    const rules = await this.#options.rights.rules(caller, namespace)
    for (const [group, resource] of [
      [apiGroup, 'kindactionmappings'],
      ['', 'configmaps'],
    ] as const) {
      if (rules.allow({ verb: 'get', group, resource })) continue
      throw forbidden(
        { group, plural: resource },
        '',
        `User "${caller.user.name}" cannot get resource "${resource}" in API group "${group}" in the namespace "${namespace}"`,
      )
    }
  }

  /** Returns the address of a url action. Throws ActionError 404, 422; StatusError 403. */
  async url(
    caller: Caller,
    ref: ResourceRef,
    name: string,
  ): Promise<{ readonly action: string; readonly url: string; readonly openWindow: string }> {
    const { resource, resolution } = await this.#resolve(caller, ref)
    const action = this.#find(resolution, resource, name, 'url-actions')
    const resolver = new PatternResolver({ ...this.#scope(caller, resource, resolution, action), inputs: undefined })
    const url = safeUrl(await resolver.resolveWhole(requiredField(action, 'url-pattern'), action.from.map))
    const openWindow = action.fields['open-window']
    return { action: name, url, openWindow: typeof openWindow === 'string' ? openWindow : 'tab' }
  }

  /** Runs a command action: creates one Job, or one per selected pod. Throws ActionError 404, 422; StatusError 403. */
  async run(caller: Caller, ref: ResourceRef, name: string, options: RunOptions = {}): Promise<readonly KubeObject[]> {
    const { resource, resolution } = await this.#resolve(caller, ref)
    const { target } = resolution
    const action = this.#find(resolution, resource, name, 'cmd-actions')
    // A role in the namespace where maps of cluster-scoped resources are looked up grants nothing on those resources.
    const namespace = target.isClusterScoped === true ? '' : target.namespace
    if (!(await this.#options.rights.check(caller, namespace, runRight(name)))) {
      throw forbidden(
        { group: apiGroup, plural: 'actions' },
        name,
        `User "${caller.user.name}" cannot run resource "actions" in API group "${apiGroup}" ${namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`}`,
      )
    }
    const scope = this.#scope(caller, resource, resolution, action)
    const jobs = await planCommand(
      action,
      { target, user: caller.user.name, application: options.application, body: options.inputs },
      {
        merged: scopeOf(resolution.merged, action),
        settings: this.#settingsOf(target, action),
        scope,
        newUid: randomUUID,
      },
    )
    const created: KubeObject[] = []
    for (const job of jobs) {
      try {
        created.push(await caller.client.create(job, { dryRun: options.dryRun ?? false }))
      } catch (error) {
        const known = asActionError(error)
        if (created.length === 0 || known === undefined) throw error
        const names = created.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`).join(', ')
        throw new ActionError(
          known.status,
          known.kind,
          `${known.message}; ${created.length} of ${jobs.length} Jobs were created before: ${names}`,
          { cause: error },
        )
      }
    }
    return created
  }

  /** Returns the runs of command actions that the caller may list, newest first. */
  async history(caller: Caller, filter: RunFilter = {}): Promise<readonly Run[]> {
    return runsOf(await this.jobs(caller, filter.namespace), filter)
  }

  /**
   * Lists the Jobs of all runs, or of targets of one namespace: in the namespace of Jobs, and beside their targets,
   * where they are created by actions of untrusted maps and by `job-namespace: ${namespace}`.
   */
  async jobs(caller: Caller, ofTargetsIn?: string): Promise<readonly KubeObject[]> {
    await this.#options.source.loadMap?.(kappnavNamespace, configName)
    const { namespace } = jobSettings(this.#config(), ofTargetsIn ?? '')
    const list = async (options: { readonly namespace?: string }): Promise<readonly KubeObject[]> =>
      (await caller.client.list(Job, { ...options, labelSelector: runSelector })).items
    if (namespace === '') return list({})
    if (ofTargetsIn === undefined || ofTargetsIn === namespace) return list({ namespace })
    // One of the two suffices: users of a namespace may often not list Jobs in kAppNav's.
    const found = await Promise.allSettled([list({ namespace }), list({ namespace: ofTargetsIn })])
    const failed = found.filter((result) => result.status === 'rejected')
    const other = failed.find(({ reason }) => !(reason instanceof StatusError && reason.code === 403))
    if (other !== undefined || failed.length === found.length) throw (other ?? failed[0]!).reason
    return found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  }

  /** Deletes a run with its pods. Throws ActionError 404 for a Job of something else. */
  async deleteRun(caller: Caller, namespace: string, name: string): Promise<void> {
    const job = await caller.client.get(Job, { namespace, name })
    if (job.metadata.labels?.[jobTypeLabel] !== 'command')
      throw new ActionError(404, 'not-found', `Job ${namespace}/${name} is not a run of an action`)
    await caller.client.delete(
      Job,
      { namespace, name },
      { propagation: 'Background', preconditions: { uid: job.metadata.uid! } },
    )
  }

  /** Returns the logs of the pods of a run. */
  async logs(
    caller: Caller,
    namespace: string,
    job: string,
  ): Promise<readonly { readonly pod: string; readonly text: string }[]> {
    await caller.client.get(Job, { namespace, name: job })
    const { items } = await caller.client.list(Pod, { namespace, labelSelector: { matchLabels: { 'job-name': job } } })
    const logs: { pod: string; text: string }[] = []
    for (const { metadata } of items) {
      const pod = metadata.name!
      const text = await caller.client.send({
        method: 'GET',
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`,
      })
      logs.push({ pod, text: typeof text === 'string' ? text : JSON.stringify(text) })
    }
    return logs
  }

  /** Returns the derived status of a resource. */
  async status(caller: Caller, ref: ResourceRef): Promise<ResourceStatus> {
    const { resource, resolution } = await this.#resolve(caller, ref)
    return this.#statusOf(resource, resolution.target)
  }

  /** Returns the sections of a resource's details. */
  async sections(caller: Caller, ref: ResourceRef): Promise<readonly Section[]> {
    const { resource, resolution } = await this.#resolve(caller, ref)
    return this.#options.source.catalog().sectionsOf(resource, resolution.target)
  }

  /** Returns the Applications that the caller may list, with their menus; hidden ones are left out. */
  async applications(caller: Caller, namespace?: string): Promise<readonly WithMenu[]> {
    let items: readonly KubeObject[]
    try {
      ;({ items } = await caller.client.list(applicationApi, { namespace }))
    } catch (error) {
      if (!isClientError(error, 'UnknownKind')) throw error
      return []
    }
    return Promise.all(
      items
        .filter(({ metadata }) => metadata.annotations?.[hiddenAnnotation] === undefined)
        .map((application) => this.#withMenu(caller, application)),
    )
  }

  /**
   * Returns the components of an Application with their menus: one list per kind and namespace, no request per
   * component.
   */
  async components(
    caller: Caller,
    key: { readonly namespace: string; readonly name: string },
  ): Promise<{ readonly components: readonly WithMenu[]; readonly unknown: readonly string[] }> {
    const application = await caller.client.get(applicationApi, key)
    const labelSelector = selectorOf(application)
    const components: KubeObject[] = []
    const unknown: string[] = []
    for (const { group, kind } of labelSelector === undefined ? [] : componentKindsOf(application)) {
      const found = await this.#options.kinds.kindOf(group === '' ? kind : `${kind}.${group}`)
      if (found === undefined) {
        unknown.push(`the server has no kind ${kind}${group === '' ? '' : ` in group ${group}`}`)
        continue
      }
      for (const namespace of componentNamespaces(application)) {
        let items: readonly KubeObject[]
        try {
          const like = { apiVersion: found.apiVersion, kind: found.kind }
          ;({ items } = await caller.client.list(like, { namespace, labelSelector }))
        } catch (error) {
          const known = asActionError(error)
          // One kind, or one namespace, that the caller may not list does not hide the others.
          if (known?.status !== 403 && known?.status !== 404) throw error
          unknown.push(known.message)
          continue
        }
        components.push(
          ...items
            .map((item) => ({ ...item, apiVersion: found.apiVersion, kind: found.kind }))
            .filter((item) => isComponent(application, item)),
        )
      }
    }
    return { components: await Promise.all(components.map((component) => this.#withMenu(caller, component))), unknown }
  }

  async #withMenu(caller: Caller, resource: KubeObject): Promise<WithMenu> {
    const resolution = await this.resolveObject(resource)
    return {
      ...menuOf(resolution, resource, await this.#mayUse(caller, resolution)),
      status: await this.#statusOf(resource, resolution.target),
    }
  }

  #statusOf(resource: KubeObject, target: Target): Promise<ResourceStatus> {
    const { source, runSnippet } = this.#options
    return evaluateStatus(
      source.catalog().statusMapOf(target),
      resource,
      runSnippet,
      unknownStatus(unknownWord(this.#config())),
    )
  }

  async #resolve(
    caller: Caller,
    ref: ResourceRef,
  ): Promise<{ readonly resource: KubeObject; readonly resolution: Resolution }> {
    const resource = await this.#read(caller, ref)
    return { resource, resolution: await this.resolveObject(resource) }
  }

  async #read(caller: Caller, ref: ResourceRef): Promise<KubeObject> {
    const kind = await this.#kindOf(ref)
    const key = { namespace: kind.namespaced ? (ref.namespace ?? 'default') : '', name: ref.name }
    return caller.client.get({ apiVersion: kind.apiVersion, kind: kind.kind }, key)
  }

  async #kindOf({ apiVersion, kind }: ResourceRef): Promise<ResourceKind> {
    const found = await this.#options.kinds.kindOf(apiVersion === undefined ? kind : typeName(apiVersion, kind))
    if (found === undefined)
      throw new ActionError(
        404,
        'not-found',
        `the server has no kind "${kind}"${apiVersion === undefined ? '' : ` in ${apiVersion}`}`,
      )
    return apiVersion === undefined ? found : { ...found, apiVersion: apiVersion.replace(/^\//, '') }
  }

  /** Data of kAppNav's configuration; empty when there is none. */
  #config(): JsonObject {
    return asData(this.#options.source.configMap(kappnavNamespace, configName)?.data)
  }

  #find(resolution: Resolution, resource: KubeObject, name: string, type: ActionType): MergedAction {
    const { merged, target } = resolution
    const action = findAction(merged, name, type)
    if (action === undefined) {
      const names = merged.actions.filter((one) => one.type === type).map((one) => one.name)
      throw new ActionError(
        404,
        'not-found',
        `${target.kind} ${target.namespace}/${target.name} has no ${type === 'url-actions' ? 'url' : 'command'} action "${name}"; it has ${names.join(', ') || 'none'}`,
      )
    }
    const { isShown, reason } = availabilityOf(action.fields, resource)
    if (!isShown)
      throw new ActionError(422, 'input-error', `action "${name}" is not offered for this resource: ${reason ?? ''}`)
    return action
  }

  /** Returns the scope of the patterns of an action: as much as the map that defines it is trusted with. */
  #scope(
    caller: Caller,
    resource: KubeObject,
    { merged }: Resolution,
    action: MergedAction,
  ): Omit<PatternScope, 'inputs'> {
    const { source, kinds, runSnippet } = this.#options
    const isTrusted = action.from.isUntrusted !== true
    const live = new LiveCluster(caller.client, kinds)
    return {
      resource: asJson(withoutSecretData(resource)),
      merged: scopeOf(merged, action),
      globalMap: async (name) => {
        if (!isTrusted && name !== builtinMap) {
          const map = await caller.client.find(ConfigMap, { namespace: kappnavNamespace, name })
          return map && asData(map.data)
        }
        await source.loadMap?.(kappnavNamespace, name)
        const map = source.configMap(kappnavNamespace, name)
        return map && asData(map.data)
      },
      runSnippet,
      callFunction: functionsFor(
        resource,
        isTrusted ? live : new NamespaceCluster(live, resource.metadata.namespace ?? ''),
      ),
    }
  }

  #settingsOf(target: Target, { from }: Pick<MergedAction, 'from'>): JobSettings {
    const settings = from.isUntrusted === true ? untrustedJobSettings : jobSettings
    return settings(this.#config(), target.namespace)
  }

  /**
   * Url actions are for every caller that may read the resource, command actions for those with the rights to run them
   * and to create their Jobs.
   */
  async #mayUse(caller: Caller, { target, merged }: Resolution): Promise<(action: MergedAction) => boolean> {
    const { rights } = this.#options
    const commands = merged.actions.filter(({ type }) => type === 'cmd-actions')
    const allowed = new Set<MergedAction>()
    const rulesOf = new Map<string, Promise<Rules>>()
    const rulesIn = (namespace: string): Promise<Rules> => {
      const known = rulesOf.get(namespace) ?? rights.rules(caller, namespace)
      rulesOf.set(namespace, known)
      return known
    }
    for (const action of commands) {
      const right = runRight(action.name)
      const mayRun =
        target.isClusterScoped === true
          ? await rights.check(caller, '', right)
          : (await rulesIn(target.namespace)).allow(right)
      const { namespace } = this.#settingsOf(target, action)
      if (mayRun && (await rulesIn(namespace)).allow(createJobs)) allowed.add(action)
    }
    return (action) => action.type === 'url-actions' || allowed.has(action)
  }
}

/** The right to create the Job of a run. */
const createJobs: Right = { verb: 'create', group: 'batch', resource: 'jobs' }

/** Name of the ConfigMap behind `${builtin.KEY}`. */
const builtinMap = 'builtin'

/** Returns a Secret without its values: patterns never substitute them. */
function withoutSecretData(resource: KubeObject): KubeObject {
  if (resource.kind !== 'Secret' || resource.apiVersion !== 'v1') return resource
  const { data: _data, stringData: _stringData, ...rest } = resource
  const { annotations, ...metadata } = rest.metadata
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== lastAppliedAnnotation)
  return { ...rest, metadata: { ...metadata, annotations: Object.fromEntries(kept) } }
}

/** Annotation in which `kubectl apply` repeats the object, values of Secrets included. */
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** Returns an address that is safe to open: a path of this server, http or https. Throws PatternError for any other. */
function safeUrl(url: string): string {
  const text = url.trim()
  if (/^https?:\/\//i.test(text) || /^\/(?![/\\])/.test(text) || /^[?#]/.test(text)) return text
  throw new PatternError(
    'InvalidPattern',
    `"${text.slice(0, 100)}" is not an address that a browser may open: it must begin with http://, https:// or /`,
  )
}

/** Returns kubectl's long form of a kind: `deployment.v1.apps`, `pod.v1`. */
function typeName(apiVersion: string, kind: string): string {
  const [first = '', second] = apiVersion.replace(/^\//, '').split('/')
  return second === undefined ? `${kind}.${first}` : `${kind}.${first === '' ? '' : `${second}.${first}`}`
}
