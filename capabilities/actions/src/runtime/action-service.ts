// The service of actions. It reads targets and writes Jobs with the caller's rights, or on their behalf as the account
// of a map. Start with ActionService.menu.
import { randomUUID } from 'node:crypto'
import type { Client } from '@fairlead/client'
import { forbidden } from '@fairlead/kube'
import type { Clock, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { apiGroup } from '../api.ts'
import { ActionError, asActionError } from '../engine/action-error.ts'
import { statusPrecedence } from '../engine/application-status.ts'
import type { CatalogSource, Resolution } from '../engine/catalog.ts'
import { asData } from '../engine/data/map-data.ts'
import { availabilityOf } from '../engine/enablement.ts'
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
import { formOf, planCommand } from '../engine/runs/command.ts'
import type { PlanContext } from '../engine/runs/command.ts'
import type { InputForm } from '../engine/runs/inputs.ts'
import type { JobSettings } from '../engine/runs/job.ts'
import { withRecord } from '../engine/runs/run-record.ts'
import {
  configName,
  delegatedJobSettings,
  jobSettings,
  kappnavNamespace,
  unknownWord,
  untrustedJobSettings,
} from '../engine/runs/settings.ts'
import { planUrl } from '../engine/runs/url.ts'
import { actionScope } from './action-scope.ts'
import { ApplicationMenus } from './application-menus.ts'
import { Delegate, createJobs } from './delegate.ts'
import type { KindTable } from './kind-table.ts'
import { runRight } from './rights.ts'
import type { Caller, Rights, Rules } from './rights.ts'
import { RunHistory } from './run-history.ts'
import { readTarget } from './target-reader.ts'
import type { ResourceRef } from './target-reader.ts'

/** Options of a run. */
export interface RunOptions {
  readonly inputs?: JsonValue | undefined
  readonly application?: { readonly name: string; readonly namespace: string } | undefined
  /** Validates the run and creates no Job. */
  readonly dryRun?: boolean | undefined
}

/** The address of a url action. */
export interface ActionUrl {
  readonly action: string
  readonly url: string
  readonly openWindow: string
}

/** Dependencies of the service. */
export interface ActionServiceOptions {
  readonly source: CatalogSource
  readonly kinds: KindTable
  readonly rights: Rights
  readonly runSnippet: RunSnippet
  readonly clock: Clock
  /** Creates the Jobs of maps that name an account; callers need their own rights when left out. */
  readonly delegate?: Client
}

/** Serves menus, runs and history. Errors that callers can cause are ActionErrors or StatusErrors. */
export class ActionService {
  /** The runs that were created. */
  readonly runs: RunHistory
  /** Applications and their components. */
  readonly applications: ApplicationMenus
  readonly #options: ActionServiceOptions
  readonly #delegate: Delegate | undefined

  constructor(options: ActionServiceOptions) {
    this.#options = options
    this.#delegate = options.delegate === undefined ? undefined : new Delegate(options.delegate, options.rights)
    this.runs = new RunHistory(options.source, this.#delegate)
    this.applications = new ApplicationMenus({
      kinds: options.kinds,
      menu: async (caller, object) => {
        const resolution = await this.resolveObject(object)
        return menuOf(resolution, object, await this.#mayUse(caller, resolution))
      },
      status: (caller, object) => this.#mappedStatus(caller, object),
      precedence: () => statusPrecedence(this.#config()),
      unknownValue: () => unknownWord(this.#config()),
    })
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

  /** Returns the catalog as it is now. */
  catalog(): ReturnType<CatalogSource['catalog']> {
    return this.#options.source.catalog()
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
  async url(caller: Caller, ref: ResourceRef, name: string, inputs?: JsonValue): Promise<ActionUrl> {
    const { resource, resolution } = await this.#resolve(caller, ref)
    const action = this.#find(resolution, resource, name, 'url-actions')
    const url = await planUrl(action, inputs, this.#planContext(caller, resource, resolution, action))
    const openWindow = action.fields['open-window']
    return { action: name, url, openWindow: typeof openWindow === 'string' ? openWindow : 'tab' }
  }

  /**
   * Returns the input form of an action for a resource, its choices and defaults resolved; undefined when it has none.
   * Throws ActionError 404, 422; StatusError 403.
   */
  async form(caller: Caller, ref: ResourceRef, name: string): Promise<InputForm | undefined> {
    const { resource, resolution } = await this.#resolve(caller, ref)
    const action = this.#find(resolution, resource, name)
    return formOf(action, this.#planContext(caller, resource, resolution, action))
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
    const settings = this.#settingsOf(target, action)
    const planned = await planCommand(
      action,
      { target, user: caller.user.name, application: options.application, body: options.inputs },
      { ...this.#planContext(caller, resource, resolution, action), settings, newUid: randomUUID },
    )
    const { dryRun = false } = options
    const delegate = await this.#delegateFor(action, settings)
    if (delegate === undefined) return createAll(caller.client, planned, dryRun)
    const map = `${action.from.map.namespace}/${action.from.map.name}`
    const record = { requestedBy: caller.user.name, map, inputs: options.inputs }
    return createAll(
      delegate.client,
      planned.map((job) => withRecord(job, record)),
      dryRun,
    )
  }

  /** Returns the derived status of a resource. */
  async status(caller: Caller, ref: ResourceRef): Promise<ResourceStatus> {
    return this.applications.status(caller, await readTarget(this.#options.kinds, caller, ref))
  }

  /** Returns the sections of a resource's details. */
  async sections(caller: Caller, ref: ResourceRef): Promise<readonly Section[]> {
    const { resource, resolution } = await this.#resolve(caller, ref)
    return this.catalog().sectionsOf(resource, resolution.target)
  }

  async #mappedStatus(caller: Caller, object: KubeObject): Promise<ResourceStatus> {
    const { target } = await this.resolveObject(object)
    return evaluateStatus(
      this.catalog().statusMapOf(target),
      object,
      this.#runSnippet(caller),
      unknownStatus(unknownWord(this.#config())),
    )
  }

  async #resolve(
    caller: Caller,
    ref: ResourceRef,
  ): Promise<{ readonly resource: KubeObject; readonly resolution: Resolution }> {
    const resource = await readTarget(this.#options.kinds, caller, ref)
    return { resource, resolution: await this.resolveObject(resource) }
  }

  /** Data of kAppNav's configuration; empty when there is none. */
  #config(): JsonObject {
    return asData(this.#options.source.configMap(kappnavNamespace, configName)?.data)
  }

  #find(resolution: Resolution, resource: KubeObject, name: string, type?: ActionType): MergedAction {
    const { merged, target } = resolution
    const action = findAction(merged, name, type)
    if (action === undefined) {
      const names = merged.actions.filter((one) => type === undefined || one.type === type).map((one) => one.name)
      const what = type === undefined ? 'action' : type === 'url-actions' ? 'url action' : 'command action'
      throw new ActionError(
        404,
        'not-found',
        `${target.kind} ${target.namespace}/${target.name} has no ${what} "${name}"; it has ${names.join(', ') || 'none'}`,
      )
    }
    const { isShown, reason } = availabilityOf(action.fields, resource)
    if (!isShown)
      throw new ActionError(422, 'input-error', `action "${name}" is not offered for this resource: ${reason ?? ''}`)
    return action
  }

  #planContext(
    caller: Caller,
    resource: KubeObject,
    resolution: Resolution,
    action: MergedAction,
  ): Pick<PlanContext, 'merged' | 'scope'> {
    const { source, kinds } = this.#options
    const sources = { source, kinds, runSnippet: this.#runSnippet(caller) }
    return {
      merged: scopeOf(resolution.merged, action),
      scope: actionScope(sources, caller, resource, resolution, action),
    }
  }

  /** Callers take turns in the sandbox, and calls of those who have left are dropped. */
  #runSnippet({ user, signal }: Caller): RunSnippet {
    const { runSnippet } = this.#options
    const options = { group: user.name, ...(signal === undefined ? {} : { signal }) }
    return (source, args, more) => runSnippet(source, args, { ...more, ...options })
  }

  #settingsOf(target: Target, { from }: Pick<MergedAction, 'from'>): JobSettings {
    const config = this.#config()
    if (from.isUntrusted === true) return untrustedJobSettings(config, target.namespace)
    const { runAs } = from.map
    return runAs === undefined
      ? jobSettings(config, target.namespace)
      : delegatedJobSettings(config, target.namespace, runAs)
  }

  /**
   * Returns the server as the creator of the Jobs of an action, if a trusted map names their account and administrators
   * let the server create them; undefined when callers need rights of their own.
   */
  async #delegateFor({ from }: MergedAction, { namespace }: JobSettings): Promise<Delegate | undefined> {
    const delegate = this.#delegate
    if (from.isUntrusted === true || from.map.runAs === undefined || delegate === undefined) return undefined
    return (await delegate.mayCreate(namespace)) ? delegate : undefined
  }

  /**
   * Url actions are for every caller that may read the resource, command actions for those with the rights to run them
   * and, unless the server creates their Jobs, to create these.
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
      if (!mayRun) continue
      const settings = this.#settingsOf(target, action)
      if (
        (await this.#delegateFor(action, settings)) !== undefined ||
        (await rulesIn(settings.namespace)).allow(createJobs)
      )
        allowed.add(action)
    }
    return (action) => action.type === 'url-actions' || allowed.has(action)
  }
}

/** Creates Jobs one after another. Throws ActionError that names those created before the one that was refused. */
async function createAll(client: Client, jobs: readonly KubeObject[], dryRun: boolean): Promise<readonly KubeObject[]> {
  const created: KubeObject[] = []
  for (const job of jobs) {
    try {
      created.push(await client.create(job, { dryRun }))
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
