// Decides for objects at hand what the controller would decide for them in a cluster, with the same engine. Start with rehearse.
import { isTerminating, selectorFrom } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { MapController } from '../api.ts'
import { readMapAnswer, readTombstoneAnswer } from '../engine/response.ts'
import { fieldManager } from '../engine/configuration.ts'
import type { Step } from '../engine/group.ts'
import { nextStep } from '../engine/group.ts'
import type { Identity } from '../engine/identity.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import { inputFilter } from '../engine/input.ts'
import { OutputBook } from '../engine/output-index.ts'
import type { GroupView, Plan } from '../engine/plan.ts'
import { planDetached, planGroup } from '../engine/plan.ts'
import type { RequestFacts } from '../engine/request.ts'
import type { SelectedParent } from '../engine/selection.ts'
import { Selection } from '../engine/selection.ts'
import { hopsOf } from '../engine/tag.ts'
import { seenDigest } from '../engine/trigger.ts'
import type { Hook, Hooks } from '../engine/hook.ts'
import type { ControllerKinds } from '../runtime/kinds.ts'
import { relatedConcerns } from '../engine/related.ts'
import { Catalog } from './catalog.ts'

/** What would happen to one group. */
export interface Rehearsed {
  readonly parent: KubeObject
  /** The input as `Kind.group/namespace/name`. */
  readonly input: string
  readonly mapKey: string
  readonly step: Step
  readonly plan: Plan
  /** Orphans that name the parent and become its outputs again (Q8). */
  readonly adopted: readonly KubeObject[]
  /** Why the hook's answer could not be used. */
  readonly error: Error | undefined
  readonly resyncAfterSeconds: number | undefined
}

/** A state that is not a start with everything known; for tests. */
export interface RehearsalTraits {
  /** Whether a group is asked; all are when left out. */
  readonly asks?: (mapKey: string) => boolean
  /** Plurals of input kinds that cannot be listed: nothing is deleted (Q23). */
  readonly unlistable?: ReadonlySet<string>
}

/** What a rehearsal is given. */
export interface RehearsalOptions extends RehearsalTraits {
  readonly controller: MapController
  /** Parents, inputs, outputs, related objects, definitions: everything that is there. */
  readonly objects: readonly KubeObject[]
  readonly hooks: Hooks
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly signal: AbortSignal
}

/** What came of a parent: its groups, and why it is refused if it is. */
export interface RehearsedParent {
  readonly parent: KubeObject
  readonly problem: string | undefined
  readonly groups: readonly Rehearsed[]
  /** How many inputs of each kind it selects; undefined where that cannot be known. */
  readonly inputTotals: readonly (number | undefined)[]
}

/** Rehearses all parents. Throws UnknownKindError and SelectorError. */
export async function rehearse(options: RehearsalOptions): Promise<RehearsedParent[]> {
  const { controller, objects } = options
  const kinds = new Catalog(objects).kinds(controller.spec)
  return new Rehearsal(options, kinds).run()
}

class Rehearsal {
  readonly #options: RehearsalOptions
  readonly #kinds: ControllerKinds
  readonly #selection: Selection
  readonly #book: OutputBook
  readonly #name: string
  readonly #objects: readonly KubeObject[]

  constructor(options: RehearsalOptions, kinds: ControllerKinds) {
    this.#options = options
    this.#objects = options.objects.map((object) => placed(object, kinds))
    this.#kinds = kinds
    this.#name = options.controller.metadata.name ?? ''
    this.#selection = new Selection(kinds.inputs.map(inputFilter), (namespace) => this.#namespaceLabels(namespace))
    this.#book = new OutputBook(this.#name, kinds.outputs.length)
  }

  async run(): Promise<RehearsedParent[]> {
    const { controller } = this.#options
    for (const [index, kind] of this.#kinds.outputs.entries()) {
      for (const object of this.#objectsOf(kind)) this.#book.set(index, formatIdentity(identityOf(object)), object)
    }
    const { labelSelector } = controller.spec.parentResource
    const selector = labelSelector === undefined ? undefined : selectorFrom(labelSelector)
    const parents = this.#objectsOf(this.#kinds.parent).filter(
      (parent) => selector?.matches(parent.metadata.labels) !== false,
    )
    const rehearsed: RehearsedParent[] = []
    for (const object of parents) rehearsed.push(await this.#parent(withUid(object)))
    return rehearsed
  }

  async #parent(object: KubeObject): Promise<RehearsedParent> {
    const { parent } = this.#selection.setParent(object, (kind) => this.#objectsOf(this.#kinds.inputs[kind]!))
    const groups = new Map([...parent.inputs].map(([mapKey, { kind, key }]) => [mapKey, this.#inputName(kind, key)]))
    for (const [mapKey, input] of this.#book.groupsOf(parent.uid, parent.identity))
      groups.set(mapKey, formatIdentity(input))
    const rehearsed: Rehearsed[] = []
    const { asks } = this.#options
    for (const [mapKey, input] of groups)
      if (asks?.(mapKey) !== false) rehearsed.push(await this.#group(parent, mapKey, input))
    const problem = parent.selector.valid ? undefined : parent.selector.message
    const inputTotals = this.#kinds.inputs.map(({ plural }, kind) => {
      const mapped = [...parent.inputs.values()].filter((input) => input.kind === kind && input.role === 'input')
      return problem === undefined && this.#options.unlistable?.has(plural) !== true ? mapped.length : undefined
    })
    return { parent: object, problem, groups: rehearsed.toSorted((a, b) => (a.input < b.input ? -1 : 1)), inputTotals }
  }

  async #group(parent: SelectedParent, mapKey: string, name: string): Promise<Rehearsed> {
    const { hooks } = this.#options
    const ref = parent.inputs.get(mapKey)
    const input = ref === undefined ? undefined : ref.role === 'stopped' ? 'stopped' : this.#find(ref.kind, ref.key)
    const adopted = isTerminating(parent.object) ? [] : this.#book.orphansOf(parent.identity, mapKey)
    const observed = [...this.#book.outputsOf(parent.uid, mapKey), ...adopted]
    const step = nextStep({
      parent: parent.object,
      input,
      outputs: observed,
      outputsKnown: true,
      inputsKnown: this.#inputsKnown(parent),
      hasTombstoneHook: hooks.tombstone !== undefined,
    })
    const base = {
      parent: parent.object,
      input: name,
      mapKey,
      step,
      plan: [],
      adopted,
      error: undefined,
      resyncAfterSeconds: undefined,
    }
    try {
      if (step === 'map')
        return { ...base, ...(await this.#map(parent, mapKey, input as KubeObject, ref?.kind ?? 0, observed)) }
      if (step === 'tombstone' && hooks.tombstone !== undefined)
        return { ...base, ...(await this.#tombstone(parent, mapKey, hooks.tombstone, observed)) }
      if (step === 'delete') return { ...base, plan: planDetached(this.#view(parent, observed), undefined) }
      return base
    } catch (error) {
      return { ...base, error: error instanceof Error ? error : new Error(String(error)) }
    }
  }

  async #map(
    parent: SelectedParent,
    mapKey: string,
    input: KubeObject,
    kind: number,
    observed: readonly KubeObject[],
  ): Promise<Pick<Rehearsed, 'plan' | 'resyncAfterSeconds'>> {
    const { controller, hooks } = this.#options
    const rules = this.#kinds.related
    const related =
      rules.length === 0
        ? undefined
        : rules.map((rule) => ({
            kind: rule,
            objects: this.#objectsOf(rule).filter((object) =>
              relatedConcerns(rule, parent.object, object, (name) => this.#namespaceLabels(name)),
            ),
          }))
    const body = await this.#ask(hooks.map, parent, mapKey, { input, related, outputs: this.#byKind(observed) })
    const answer = readMapAnswer(body, { parent: parent.object, kinds: this.#kinds.outputs, strict: hooks.map.strict })
    const identity = identityOf(input)
    const seen = seenDigest(controller, parent.object, input, this.#kinds.inputs[kind]!.spec)
    const tag = { controller: this.#name, parent: identityOf(parent.object), input: identity, mapKey }
    const plan = planGroup(this.#view(parent, observed), answer, {
      tag,
      parent: parent.object,
      hops: hopsOf(input) + 1,
      seen,
    })
    return { plan, resyncAfterSeconds: answer.resyncAfterSeconds }
  }

  async #tombstone(
    parent: SelectedParent,
    mapKey: string,
    hook: Hook,
    observed: readonly KubeObject[],
  ): Promise<Pick<Rehearsed, 'plan' | 'resyncAfterSeconds'>> {
    const body = await this.#ask(hook, parent, mapKey, { outputs: this.#byKind(observed) })
    const answer = readTombstoneAnswer(body, { parent: parent.object, kinds: this.#kinds.outputs, strict: hook.strict })
    return { plan: planDetached(this.#view(parent, observed), answer), resyncAfterSeconds: answer.resyncAfterSeconds }
  }

  #ask(
    hook: Hook,
    parent: SelectedParent,
    mapKey: string,
    facts: Pick<RequestFacts, 'input' | 'outputs' | 'related'>,
  ): ReturnType<Hook['call']> {
    const { controller, now, signal } = this.#options
    return hook.call({
      facts: { controller, parent: parent.object, mapKey, ...facts },
      group: `${parent.uid}/${mapKey}`,
      now,
      signal,
    })
  }

  #view(parent: SelectedParent, observed: readonly KubeObject[]): GroupView {
    const find = (
      kind: { readonly apiVersion: string; readonly kind: string },
      identity: Identity,
    ): KubeObject | undefined => {
      const name = formatIdentity(identity)
      return this.#objectsOf(kind).find((object) => formatIdentity(identityOf(object)) === name)
    }
    return {
      controllerName: this.#name,
      manager: fieldManager(this.#name),
      parent: parent.object,
      observed,
      find,
      mayDelete: this.#inputsKnown(parent),
    }
  }

  #inputsKnown(parent: SelectedParent): boolean {
    return parent.selector.valid && !this.#kinds.inputs.some(({ plural }) => this.#options.unlistable?.has(plural))
  }

  #byKind(observed: readonly KubeObject[]): RequestFacts['outputs'] {
    return this.#kinds.outputs.map((kind) => ({
      kind,
      objects: observed.filter((object) => object.kind === kind.kind && object.apiVersion === kind.apiVersion),
    }))
  }

  #find(kind: number, key: string): KubeObject | undefined {
    return this.#objectsOf(this.#kinds.inputs[kind]!).find(
      ({ metadata }) =>
        (metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`) === key,
    )
  }

  #inputName(kind: number, key: string): string {
    const input = this.#find(kind, key)
    return input === undefined ? key : formatIdentity(identityOf(input))
  }

  #objectsOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): readonly KubeObject[] {
    return this.#objects.filter((object) => object.apiVersion === apiVersion && object.kind === kind)
  }

  #namespaceLabels(name: string): Readonly<Record<string, string>> | undefined {
    const found = this.#objectsOf({ apiVersion: 'v1', kind: 'Namespace' }).find(
      (object) => object.metadata.name === name,
    )
    return found === undefined ? undefined : (found.metadata.labels ?? {})
  }
}

/** An object as a server would have it: in the namespace default where it names none. */
function placed(object: KubeObject, { parent, inputs, outputs, related }: ControllerKinds): KubeObject {
  const kind = [parent, ...inputs, ...outputs, ...related].find(
    (one) => one.kind === object.kind && one.apiVersion === object.apiVersion,
  )
  if (kind?.namespaced !== true || object.metadata.namespace !== undefined) return object
  return { ...object, metadata: { ...object.metadata, namespace: 'default' } }
}

function withUid(object: KubeObject): KubeObject {
  const { uid, namespace = '', name = '' } = object.metadata
  return { ...object, metadata: { ...object.metadata, uid: uid ?? `uid-of-${namespace}-${name}` } }
}
