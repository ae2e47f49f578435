// Keeps the registry in step with the stored CRDs and carries out the steps of their lifecycle (lifecycle.ts). It
// watches the store directly, so that a resource is served from the very revision at which its CRD is Established.
import {
  asCustomResourceDefinition,
  asJson,
  asObject,
  cloneJson,
  findCondition,
  isConflict,
  isNotFound,
  isTerminating,
  jsonEqual,
} from '@fairlead/kube'
import type { CustomResourceDefinition, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { deleteObject } from '../../handlers/delete.ts'
import { updateObject } from '../../handlers/update.ts'
import type { ServedResource } from '../../registry/registry.ts'
import { resourceName, storedApiVersion } from '@fairlead/builtin-kinds'
import type { Change, Entry } from '../../storage/store.ts'
import { hasAcceptedNames } from './accepted-names.ts'
import type { ConversionSource } from '../../custom/conversion-webhook.ts'
import { nextStep } from './lifecycle.ts'
import type { LifecycleStep } from './lifecycle.ts'
import { resourceDefinitionFrom } from '../../custom/resource-definition.ts'
import type { RuleEngine } from '../../custom/validation-rules.ts'
import { internalScope } from '../../handlers/request-scope.ts'
import type { RequestScope } from '../../handlers/request-scope.ts'
import type { ServerDependencies } from '../../handlers/server-dependencies.ts'
import { timestamp } from '../../objects/timestamp.ts'
import { apiServerUser } from '../../identity/well-known-users.ts'

/** Options of {@link CustomResources}. */
export interface CustomResourcesOptions {
  /**
   * Milliseconds before each step of a deletion. Default 0. Names are always accepted in the next iteration of the
   * event loop: clients of the real server see them in their next request (recording crd/update-rules).
   */
  readonly delay?: number
  /** The engine for x-kubernetes-validations; CEL when left out. */
  readonly engine?: RuleEngine
  /** Calls conversion webhooks; without it versions differ by apiVersion alone. */
  readonly webhooks?: ConversionSource
  /** Called with errors; the failed step is retried. */
  readonly onError?: (error: unknown) => void
}

const definitions = 'customresourcedefinitions.apiextensions.k8s.io'
const retryDelay = 1_000
const deletion = {
  dryRun: false,
  gracePeriodSeconds: undefined,
  propagationPolicy: undefined,
  orphanDependents: undefined,
  preconditions: {},
}

/** The controller of CustomResourceDefinitions. Create it with {@link CustomResources.start}. */
export class CustomResources implements AsyncDisposable {
  readonly #server: ServerDependencies
  readonly #options: CustomResourcesOptions
  readonly #entries = new Map<string, Entry>()
  /** Timers by name of the definition. */
  readonly #scheduled = new Map<string, Disposable>()
  readonly #subscription: Disposable
  readonly #stop = new AbortController()
  #work: Promise<void> = Promise.resolve()

  private constructor(server: ServerDependencies, options: CustomResourcesOptions) {
    this.#server = server
    this.#options = options
    this.#subscription = server.store.watchAll((change) => this.#observe(change))
  }

  /** Registers the stored definitions and follows their changes. */
  static async start(server: ServerDependencies, options: CustomResourcesOptions = {}): Promise<CustomResources> {
    const resources = new CustomResources(server, options)
    const { entries } = await server.store.list(definitions)
    for (const entry of entries) {
      const known = resources.#entries.get(entry.key)
      if (known === undefined || known.revision < entry.revision) resources.#keep(entry)
    }
    return resources
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]()
    this.#stop.abort()
    for (const timer of this.#scheduled.values()) timer[Symbol.dispose]()
    this.#scheduled.clear()
    await this.#work
  }

  #observe({ type, entry }: Change): void {
    if (entry.resource === definitions) {
      if (type === 'put') this.#keep(entry)
      else this.#drop(entry)
    } else if (type === 'delete') {
      this.#scheduleDefinitionOf(entry.resource)
    }
  }

  #keep(entry: Entry): void {
    const old = this.#entries.get(entry.key)
    this.#entries.set(entry.key, entry)
    this.#register(definitionIn(entry), old && definitionIn(old))
    this.#schedule(entry.key)
    this.#scheduleSiblings(entry)
  }

  #drop(entry: Entry): void {
    this.#entries.delete(entry.key)
    const { spec } = definitionIn(entry)
    const served = this.#server.registry.definition(spec.group ?? '', spec.names.plural ?? '')
    if (served?.origin === 'custom' && served.crd?.metadata.uid === definitionIn(entry).metadata.uid) {
      this.#server.registry.remove(spec.group ?? '', spec.names.plural ?? '')
    }
    this.#scheduleSiblings(entry)
  }

  /** Serves an established definition. Changes that clients cannot see leave the registry unchanged. */
  #register(crd: CustomResourceDefinition, old: CustomResourceDefinition | undefined): void {
    if (findCondition(crd.status?.conditions ?? [], 'Established')?.status !== 'True') return
    const { registry } = this.#server
    const served = registry.definition(crd.spec.group ?? '', crd.spec.names.plural ?? '')
    // A CRD does not displace a resource of another origin.
    if (served !== undefined && served.origin !== 'custom') return
    if (served !== undefined && old !== undefined && definesSameResource(crd, old)) return
    registry.put(resourceDefinitionFrom(crd, this.#options.engine, this.#options.webhooks))
  }

  /** Schedules the definitions of the group that lack accepted names: some may have become available. */
  #scheduleSiblings(changed: Entry): void {
    const { group } = definitionIn(changed).spec
    for (const [name, entry] of this.#entries) {
      const crd = definitionIn(entry)
      if (name !== changed.key && crd.spec.group === group && !hasAcceptedNames(crd)) this.#schedule(name)
    }
  }

  #scheduleDefinitionOf(resource: string): void {
    const entry = this.#entries.get(resource)
    if (entry !== undefined && isTerminating(definitionIn(entry))) this.#schedule(entry.key)
  }

  #schedule(name: string, delay: number = this.#delayOf(name)): void {
    if (this.#stop.signal.aborted || this.#scheduled.has(name)) return
    const run = (): void => {
      this.#scheduled.delete(name)
      this.#work = this.#work.then(() => this.#reconcile(name))
    }
    this.#scheduled.set(name, this.#server.clock.timer(delay, run))
  }

  #delayOf(name: string): number {
    const entry = this.#entries.get(name)
    return entry !== undefined && isTerminating(definitionIn(entry)) ? (this.#options.delay ?? 0) : 0
  }

  async #reconcile(name: string): Promise<void> {
    const entry = this.#entries.get(name)
    if (entry === undefined || this.#stop.signal.aborted) return
    try {
      const { step } = this.#decide(asObject(entry.object))
      if (step === 'write') await this.#write(name)
      else if (step === 'delete-instances') await this.#deleteInstances(definitionIn(entry))
    } catch (error) {
      if (isNotFound(error) || this.#stop.signal.aborted) return
      if (!isConflict(error)) this.#options.onError?.(error)
      this.#schedule(name, retryDelay)
    }
  }

  #decide(crd: KubeObject): LifecycleStep {
    const { spec, metadata } = asCustomResourceDefinition(crd)
    const siblings = [...this.#entries.values()]
      .map(definitionIn)
      .filter((other) => other.spec.group === spec.group && other.metadata.name !== metadata.name)
    const { store, clock } = this.#server
    const instances = store.count(resourceName({ group: spec.group ?? '', plural: spec.names.plural ?? '' }))
    return nextStep({ crd, siblings, instances, now: timestamp(clock.now()) })
  }

  async #write(name: string): Promise<void> {
    const resource = this.#server.registry.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')
    if (resource === undefined) return
    await updateObject(this.#server, this.#scope(resource, '', name, 'status'), {
      dryRun: false,
      manager: 'kube-apiserver',
      createsMissing: false,
      change: (current) => {
        const decided = this.#decide(current!)
        return mutableCopy(decided.step === 'write' ? decided.object : asJson(current!))
      },
    })
  }

  async #deleteInstances(crd: CustomResourceDefinition): Promise<void> {
    const resource = this.#storedResource(crd)
    const { entries } = await this.#server.store.list(resourceName(resource.definition))
    for (const { object } of entries) {
      const { namespace = '', name = '', deletionTimestamp } = asObject(object).metadata
      if (deletionTimestamp !== undefined) continue
      try {
        await deleteObject(this.#server, this.#scope(resource, namespace, name, ''), deletion)
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
    if (this.#server.store.count(resourceName(resource.definition)) === 0) this.#schedule(crd.metadata.name ?? '')
  }

  /** Returns the resource in its storage version, served or not. */
  #storedResource(crd: CustomResourceDefinition): ServedResource {
    const { group = '', names } = crd.spec
    const definition =
      this.#server.registry.definition(group, names.plural ?? '') ??
      resourceDefinitionFrom(crd, this.#options.engine, this.#options.webhooks)
    const version =
      definition.versions.find((candidate) => candidate.name === definition.storageVersion) ?? definition.versions[0]!
    return { definition, version, apiVersion: storedApiVersion(definition) }
  }

  #scope(resource: ServedResource, namespace: string, name: string, subresource: string): RequestScope {
    const { signal } = this.#stop
    return internalScope({ resource, namespace, name, subresource, user: apiServerUser, signal })
  }
}

function definitionIn(entry: Entry): CustomResourceDefinition {
  return asCustomResourceDefinition(asObject(entry.object))
}

function mutableCopy(object: JsonObject): JsonObject {
  return cloneJson(object as JsonValue) as JsonObject
}

/** Returns true when two states of a CRD define the same served resource: by spec, accepted names and deletion. */
function definesSameResource(a: CustomResourceDefinition, b: CustomResourceDefinition): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    jsonEqual(a.spec, b.spec) &&
    jsonEqual(a.status?.acceptedNames ?? {}, b.status?.acceptedNames ?? {})
  )
}
