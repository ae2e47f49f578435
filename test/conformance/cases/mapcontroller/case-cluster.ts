// The cluster of a case: an embedded server in memory on a fake clock, with exactly the state that the case gives.
import { isDeepStrictEqual } from 'node:util'
import type { Store } from '@fairlead/apiserver'
import { ApiServer, memory } from '@fairlead/apiserver'
import { Client } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { JsonObject, KubeObject, ObjectMeta } from '@fairlead/kube'
import { FakeClock, asJson, asObject, parseApiVersion } from '@fairlead/kube'
import type { Identity, MapRun, Tag } from '@fairlead/metacontroller'
import type { CaseOutput, CaseResource } from '@fairlead/metacontroller'
import {
  MapControllers,
  configurationOf,
  crds,
  outputManager,
  identityOf,
  mapKeyOf,
  outputKind,
  tagAnnotations,
  tagLabels,
} from '@fairlead/metacontroller'
import { parseRef } from '@fairlead/metacontroller'
import { repeatableRandom } from '../../../../examples/stage.ts'
import type { Responder } from './hook-server.ts'
import { CaseHookServer } from './hook-server.ts'
import type { MapCase } from './map-case.ts'
import { RecordingTransport } from './recording-transport.ts'

/** The cluster, the hooks and the controller of one case. */
export class CaseCluster implements AsyncDisposable {
  readonly clock: FakeClock
  readonly client: Client
  readonly hooks: CaseHookServer
  readonly transport: RecordingTransport
  readonly #case: MapCase
  readonly #store: Store
  readonly #server: ApiServer
  readonly #uids = new Map<string, string>()
  #manager: Manager | undefined
  #controllers: MapControllers | undefined

  private constructor(
    of: MapCase,
    clock: FakeClock,
    server: ApiServer,
    hooks: CaseHookServer,
    hiddenNamespaces: ReadonlySet<string>,
  ) {
    this.#case = of
    this.clock = clock
    this.#server = server
    this.#store = server.store
    this.client = server.client()
    this.hooks = hooks
    const outputs = this.outputResources()
    this.transport = new RecordingTransport(server.transport(), {
      outputs,
      unlistable: new Set(of.input.unlistable),
      hiddenNamespaces,
    })
  }

  /** Starts a server that serves the kinds of the case and holds no objects of it yet. */
  static async start(
    of: MapCase,
    refOfKey: (mapKey: string) => string | undefined,
    responder: Responder,
  ): Promise<CaseCluster> {
    const clock = new FakeClock('2026-01-02T00:00:00Z')
    const server = await ApiServer.start({ storage: memory(), clock, controllers: ['crd'], random: repeatableRandom() })
    const hooks = await CaseHookServer.start(refOfKey, responder)
    const given = new Set(
      of.input.inputs.filter(({ kind }) => kind === 'Namespace').map((object) => object.metadata.name ?? ''),
    )
    const namespaces = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease', ...namespacesOf(of)])
    const cluster = new CaseCluster(of, clock, server, hooks, namespaces.difference(given))
    await cluster.#serveKinds()
    for (const namespace of namespaces.difference(given)) await cluster.put(namespaceObject(namespace))
    return cluster
  }

  /** The uid of the parent. */
  get parentUid(): string {
    return this.#case.input.parent.metadata.uid ?? ''
  }

  /** The run of the case's controller, once it is there. */
  get run(): MapRun | undefined {
    return this.#controllers?.run(this.#case.input.controller.name)
  }

  /** The kind of a reference or an object. */
  resource(of: { readonly kind: string; readonly apiVersion?: string }): CaseResource {
    const found = this.#case.resources.find(
      ({ kind, apiVersion }) => kind === of.kind && (of.apiVersion === undefined || of.apiVersion === apiVersion),
    )
    if (found === undefined) throw new Error(`The file lists no resource of kind ${of.kind}`)
    return found
  }

  /** The output kinds of the case. */
  outputResources(): CaseResource[] {
    const spec = this.#case.input.controller.spec as {
      readonly outputResources?: readonly { readonly apiVersion: string; readonly resource: string }[]
    }
    return (spec.outputResources ?? []).flatMap(
      (output) =>
        this.#case.resources.find(
          ({ apiVersion, plural }) => apiVersion === output.apiVersion && plural === output.resource,
        ) ?? [],
    )
  }

  /** The identity of a referenced object. */
  identity(ref: string): Identity {
    const { kind, namespace, name } = parseRef(ref)
    return { group: parseApiVersion(this.resource({ kind }).apiVersion).group, kind, namespace: namespace ?? '', name }
  }

  /** Stores an object as it is given, without validation. */
  async put(object: KubeObject): Promise<void> {
    const place = this.#place(object)
    const head = await this.#store.head(place.resource, place.key)
    const uid =
      object.metadata.uid ?? this.#uids.get(`${place.resource} ${place.key}`) ?? `uid-of-${place.resource}-${place.key}`
    this.#uids.set(`${place.resource} ${place.key}`, uid)
    const { resourceVersion: _resourceVersion, ...metadata } = object.metadata
    const stored = { ...object, metadata: { creationTimestamp: '2026-01-01T00:00:00Z', ...metadata, uid } }
    await this.#store.write({
      ...place,
      expected: head?.object === undefined ? 0 : head.revision,
      object: asJson(stored),
    })
  }

  /** Changes a stored object. */
  async change(object: KubeObject, how: (stored: JsonObject) => JsonObject): Promise<void> {
    const place = this.#place(object)
    const head = await this.#store.head(place.resource, place.key)
    if (head?.object === undefined) throw new Error(`${place.key} is not stored`)
    await this.#store.write({ ...place, expected: head.revision, object: how(head.object) })
  }

  /** Removes an object from the store. */
  async remove(object: KubeObject): Promise<void> {
    const place = this.#place(object)
    const head = await this.#store.head(place.resource, place.key)
    if (head?.object !== undefined) await this.#store.write({ ...place, expected: head.revision, object: undefined })
  }

  /**
   * Stores an output with the metadata of its owner and tag. Our own outputs are applied, so that they have
   * managedFields.
   */
  async putOutput({ object, owner, taggedFor, taggedBy, lastApplied }: CaseOutput): Promise<void> {
    const { controller, parent } = this.#case.input
    const by = taggedBy ?? controller.name
    const isOurs = taggedFor !== null && by === controller.name && (owner === 'parent' || owner === null)
    const marks = taggedFor === null ? {} : this.#marks(taggedFor, by, owner)
    const owners =
      owner === null ? {} : { ownerReferences: [ownerReference(parent, owner === 'parent' ? this.parentUid : owner)] }
    if (!isOurs) return this.put(withMetadata(object, marks, owners))
    const wanted = lastApplied ?? withoutServerFields(object)
    const kind = outputKind(
      { ...this.resource(object), group: parseApiVersion(object.apiVersion).group },
      { apiVersion: object.apiVersion, resource: '' },
    )
    const namespace = kind.namespaced ? (object.metadata.namespace ?? parent.metadata.namespace ?? '') : ''
    const { object: configuration } = configurationOf(
      { identity: { ...identityOf(object), namespace }, kind, object: wanted },
      { tag: this.#tag(taggedFor, by), parent, hops: 1, seen: '' },
    )
    const manager = outputManager(controller.name, parent)
    const { object: applied } = await this.client.applyRaw(
      owner === null ? withMetadata(configuration, {}, { ownerReferences: [] }) : configuration,
      { manager, force: true },
    )
    const { labels, annotations, ownerReferences, managedFields } = (await this.#changedByOthers(applied, object))
      .metadata
    await this.put(
      withMetadata(object, { labels, annotations }, { managedFields, ...(owner === null ? {} : { ownerReferences }) }),
    )
  }

  /** Returns the applied object changed to the given content by another manager, which owns what differs. */
  async #changedByOthers(applied: KubeObject, given: KubeObject): Promise<KubeObject> {
    const { metadata: _given, ...content } = given
    const { metadata, ...before } = applied
    if (isDeepStrictEqual(content, before)) return applied
    return this.client.update(asObject({ ...asJson(content), metadata: metadata as JsonObject }), { manager: 'others' })
  }

  /** Starts the controller. */
  async startController(): Promise<void> {
    const { controller } = this.#case.input
    const hooks = Object.fromEntries(
      controller.spec.hooks.map((hook) => [hook, { webhook: { url: this.hooks.url(hook) } }]),
    )
    const client = new Client({ transport: this.transport, clock: this.clock, random: repeatableRandom() })
    const starting = Manager.start({
      client,
      crds,
      setup: (manager) => {
        this.#controllers = new MapControllers(manager, { resolve: new Map() })
      },
    })
    this.#manager = await this.#during(starting)
    const object = {
      apiVersion: 'metacontroller.k8s.io/v1alpha1',
      kind: 'MapController',
      metadata: { name: controller.name },
      spec: { ...controller.spec, hooks },
    }
    await this.client.create(object, { fieldValidation: 'Strict' })
    await this.until(() => this.run?.isStarted === true)
  }

  /** Resolves when no group is queued or being reconciled. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 8;) {
      await new Promise((resolve) => setImmediate(resolve))
      const queue = this.run?.loop.queue
      quiet = queue !== undefined && queue.length === 0 && queue.working === 0 ? quiet + 1 : 0
    }
  }

  /** Advances the clock and runs everything that falls due. `then` is called after each step. */
  async pass(ms: number, then: () => void = () => {}): Promise<void> {
    const end = this.clock.now() + ms
    for (;;) {
      const left = end - this.clock.now()
      const next = this.clock.untilNext()
      await this.clock.advance(Math.min(left, next ?? left))
      await this.settle()
      then()
      if (this.clock.now() >= end && (this.clock.untilNext() ?? 1) > 0) return
    }
  }

  /** Waits for a condition without advancing the clock. */
  async until(holds: () => boolean): Promise<void> {
    for (let steps = 0; !holds(); steps++) {
      if (steps > 20_000) throw new Error('The condition was not met in time')
      await this.clock.advance(0)
    }
  }

  /** The object of a reference as it is stored; undefined when it is not. */
  async stored(ref: string): Promise<string | undefined> {
    const { kind, namespace, name } = parseRef(ref)
    const { apiVersion } = this.resource({ kind })
    const place = this.#place({
      apiVersion,
      kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    })
    const entry = await this.#store.get(place.resource, place.key)
    return entry === undefined ? undefined : JSON.stringify([entry.revision, entry.object])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controllers?.stop()
    const stopping = this.#manager?.stop()
    await this.clock.advance(60_000)
    await stopping
    await this.hooks[Symbol.asyncDispose]()
    await this.#server[Symbol.asyncDispose]()
  }

  /** Lets timers that are due fire while something is awaited. */
  async #during<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const done = promise.finally(() => (isDone = true))
    done.catch(() => {})
    await this.until(() => isDone)
    return done
  }

  async #serveKinds(): Promise<void> {
    const definitions: KubeObject[] = []
    for (const resource of this.#case.resources) {
      const isServed = await this.client.discovery.kindOf(resource.apiVersion, resource.plural).then(
        () => true,
        () => false,
      )
      if (!isServed) definitions.push(definitionOf(resource))
    }
    await this.#during(installDefinitions(this.client, definitions))
  }

  #tag(ref: string, controller: string): Tag {
    const input = this.identity(ref)
    return { controller, parent: identityOf(this.#case.input.parent), input, mapKey: mapKeyOf(input) }
  }

  #marks(ref: string, by: string, owner: string | null): Pick<ObjectMeta, 'labels' | 'annotations'> {
    const tag = this.#tag(ref, by)
    const parent =
      owner === 'parent' || owner === null ? tag.parent : { ...tag.parent, name: `${tag.parent.name}-other` }
    return { labels: tagLabels(tag), annotations: tagAnnotations({ ...tag, parent }, 1) }
  }

  #place(object: KubeObject): { readonly resource: string; readonly key: string } {
    const { namespace, name = '' } = object.metadata
    const { plural, namespaced } =
      object.kind === 'Namespace' ? { plural: 'namespaces', namespaced: false } : this.resource(object)
    const group = parseApiVersion(object.apiVersion).group
    return { resource: `${plural}.${group}`, key: namespaced ? `${namespace ?? ''}/${name}` : name }
  }
}

function namespacesOf({ input }: MapCase): Set<string> {
  const objects = [input.parent, ...input.inputs, ...input.outputs.map(({ object }) => object)]
  return new Set(objects.flatMap((object) => object.metadata.namespace ?? []))
}

function namespaceObject(name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}

function definitionOf({ apiVersion, kind, plural, namespaced, statusSubresource }: CaseResource): KubeObject {
  const { group, version } = parseApiVersion(apiVersion)
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, case' } },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          ...(statusSubresource === true ? { subresources: { status: {} } } : {}),
        },
      ],
    },
  }
}

function ownerReference(parent: KubeObject, uid: string): Required<ObjectMeta>['ownerReferences'][number] {
  const name = uid === parent.metadata.uid ? (parent.metadata.name ?? '') : `${parent.metadata.name}-other`
  return { apiVersion: parent.apiVersion, kind: parent.kind, name, uid, controller: true, blockOwnerDeletion: true }
}

function withMetadata(
  object: KubeObject,
  marks: Pick<ObjectMeta, 'labels' | 'annotations'>,
  more: ObjectMeta,
): KubeObject {
  const { labels, annotations } = object.metadata
  const merged = {
    ...(marks.labels === undefined ? {} : { labels: { ...labels, ...marks.labels } }),
    ...(marks.annotations === undefined ? {} : { annotations: { ...annotations, ...marks.annotations } }),
  }
  return { ...object, metadata: { ...object.metadata, ...merged, ...more } }
}

function withoutServerFields(object: KubeObject): KubeObject {
  const {
    uid: _uid,
    deletionTimestamp: _deletion,
    finalizers: _finalizers,
    generation: _generation,
    ...metadata
  } = object.metadata
  return asObject({ ...asJson(object), metadata: metadata as JsonObject })
}
