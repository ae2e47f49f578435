// Plays a scenario of ACK's suites: the engine and our manager of a kind on scripted calls of the service. What a suite
// gives as state takes the place of the read that our engine begins with.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AwsError, finalizerOf, reconcileResource, resourceKinds, withLateFields } from '@fairlead/aws'
import type { LateFields, Observed, Outcome, ResourceKind, ResourceManager } from '@fairlead/aws'
import { managerFor, serviceModel } from '@fairlead/aws/services'
import type { ApiObject, ServiceApi } from '@fairlead/aws/services'
import { parseYaml } from '@fairlead/kube'
import type { Condition, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { fieldName } from '@fairlead/references/generator'

/** One scripted call. */
interface ScriptedCall {
  readonly operation: string
  readonly output_fixture?: string
  readonly error?: { readonly code: string; readonly message: string }
}

/** A scenario of a suite. */
export interface Scenario {
  readonly kind: string
  /** Folder of the suite. */
  readonly folder: string
  readonly name: string
  readonly given: {
    readonly desired_state: string
    readonly latest_state?: string
    readonly svc_api?: readonly ScriptedCall[]
  }
  readonly invoke: 'Create' | 'ReadOne' | 'Update' | 'Delete' | 'LateInitialize'
  readonly expect: { readonly latest_state?: string; readonly error?: string | null }
}

/** Returns the scenarios of a suite. */
export function scenariosOf(kind: string, folder: string): readonly Scenario[] {
  const { tests } = parseYaml(readFileSync(join(folder, 'test_suite.yaml'), 'utf8')) as unknown as {
    readonly tests: readonly { readonly scenarios: readonly Omit<Scenario, 'kind' | 'folder'>[] }[]
  }
  return tests.flatMap(({ scenarios }) => scenarios).map((one) => ({ ...one, kind, folder }))
}

/** Returns a fixture with the names of our CRDs: ACK writes `type_` where Go reserves the word. */
function fixture(folder: string, path: string): KubeObject {
  return parseYaml(readFileSync(join(folder, path), 'utf8').replaceAll('type_:', 'type:')) as unknown as KubeObject
}

function withDates(value: unknown): unknown {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return new Date(value)
  if (Array.isArray(value)) return value.map(withDates)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withDates(item)]))
}

/** The service as a scenario scripts it. */
class ScriptedApi implements ServiceApi {
  readonly left: ScriptedCall[]
  readonly unexpected: string[] = []
  readonly #folder: string

  constructor({ given, folder }: Scenario) {
    this.left = [...(given.svc_api ?? [])]
    this.#folder = folder
  }

  async call(operation: string): Promise<ApiObject> {
    const at = this.left.findIndex((one) => one.operation === `${operation}WithContext`)
    const [call] = at < 0 ? [] : this.left.splice(at, 1)
    if (call === undefined) {
      this.unexpected.push(operation)
      throw new Error(`${operation} is not in the script`)
    }
    if (call.error !== undefined)
      throw new AwsError(call.error.code, call.error.message, {
        status: call.error.code === 'ServiceUnavailable' ? 503 : 400,
      })
    if (call.output_fixture === undefined) return {}
    return withDates(JSON.parse(readFileSync(join(this.#folder, call.output_fixture), 'utf8'))) as ApiObject
  }
}

/** Result of a scenario, in the terms of a suite. */
export interface Played {
  readonly spec: JsonObject
  readonly status: JsonObject
  readonly conditions: readonly Condition[]
  readonly error: string | undefined
  readonly unexpected: readonly string[]
  /** Calls of the script that were not made. */
  readonly left: readonly string[]
}

const now = Date.parse('2026-01-02T00:00:00Z')

function observedOf({ spec, status }: KubeObject): Observed {
  const {
    ackResourceMetadata,
    conditions: _conditions,
    // A field of an older CRD.
    latestEndpointConfigName: _latest,
    ...fields
  } = (status ?? {}) as JsonObject
  const arn = (ackResourceMetadata as { readonly arn?: string } | undefined)?.arn
  return { spec: (spec ?? {}) as JsonObject, status: fields, ...(arn === undefined ? {} : { arn }) }
}

function objectFor(scenario: Scenario, kind: ResourceKind): KubeObject {
  const given = fixture(scenario.folder, scenario.given.desired_state)
  const holds = scenario.invoke === 'Create' ? [] : [finalizerOf(kind)]
  const annotations = {
    ...given.metadata.annotations,
    ...(scenario.invoke === 'ReadOne' ? { 'services.k8s.aws/read-only': 'true' } : {}),
  }
  return {
    ...given,
    metadata: {
      ...given.metadata,
      namespace: 'default',
      uid: 'uid',
      annotations,
      finalizers: holds,
      ...(scenario.invoke === 'Delete' ? { deletionTimestamp: '2026-01-02T00:00:00Z' } : {}),
    },
  } as KubeObject
}

/** Returns our manager with the state of the suite in place of the first read. */
function readingFirst(manager: ResourceManager, state: Observed | undefined, api: ScriptedApi): ResourceManager {
  let isFirst = true
  return {
    read: async (spec, status) => {
      if (isFirst) {
        isFirst = false
        return state
      }
      // A suite that scripts no further call takes the resource as deleted.
      return api.left.length === 0 ? undefined : manager.read(spec, status)
    },
    tags: async () => ({}),
    tag: (observed, change) => manager.tag(observed, change),
    create: (spec, tags) => manager.create(spec, tags),
    update: (change) => manager.update(change),
    delete: (spec, observed) => manager.delete(spec, observed),
  }
}

/** Plays a scenario. */
export async function play(scenario: Scenario): Promise<Played> {
  const kind = resourceKinds.find((one) => one.kind === scenario.kind)
  if (kind === undefined) throw new Error(`there is no kind ${scenario.kind}`)
  const api = new ScriptedApi(scenario)
  const own = managerFor(kind, () => api)
  const object = objectFor(scenario, kind)
  const spec = (object['spec'] ?? {}) as JsonObject
  const ended = (result: Omit<Played, 'unexpected' | 'left'>): Played => ({
    ...result,
    unexpected: api.unexpected,
    left: api.left.map(({ operation }) => operation),
  })
  let filled: LateFields = new Map()
  const fill = async (fields: LateFields): Promise<undefined> => void (filled = fields)
  const isLate = scenario.invoke === 'LateInitialize'
  const { latest_state: latest } = scenario.given
  const states: Readonly<Record<string, () => Observed | undefined>> = {
    Create: () => undefined,
    Update: () => observedOf(fixture(scenario.folder, latest as string)),
    Delete: () => observedOf(object),
  }
  const state = states[scenario.invoke]
  let read: Observed | undefined
  const manager =
    state === undefined
      ? { ...readingFirst(own, undefined, api), read: async (of: JsonObject) => (read = await own.read(of, {})) }
      : readingFirst(own, state(), api)
  const outcome = await reconcileResource({
    id: { group: kind.group, kind: kind.kind, namespace: 'default', name: object.metadata.name ?? '' },
    object,
    kind,
    finalizer: finalizerOf(kind),
    settings: { deletionPolicy: 'delete', resync: 36_000_000, region: 'us-west-2', tags: {}, lateInitialize: isLate },
    now,
    // A suite says nothing of tags: the resource has those of the spec.
    manager: isLate ? { ...manager, tags: async () => tagsOf(spec) } : manager,
    referents: { read: () => ({ state: 'absent' }), permission: () => 'denied', cycle: () => undefined },
    store: { hold: async () => {}, release: async () => {}, record: async () => {}, annotate: async () => {}, fill },
    dependents: () => [],
  })
  const {
    conditions = [],
    resolvedReferences: _references,
    ...status
  } = (outcome.status ?? {}) as JsonObject & {
    readonly conditions?: readonly Condition[]
  }
  return ended({
    // The late fields are the only ones of the resource that come into the spec.
    spec: isLate ? withLateFields(spec, filled) : { ...withoutDescribed(kind, spec, read), ...read?.spec },
    status,
    conditions,
    error: errorOf(outcome, conditions),
  })
}

function tagsOf({ tags = [] }: JsonObject): Readonly<Record<string, string>> {
  const list = tags as unknown as readonly { readonly key: string; readonly value: string }[]
  return Object.fromEntries(list.map(({ key, value }) => [key, value]))
}

/** Returns the fields of a spec that a read says nothing about. */
function withoutDescribed({ kind }: ResourceKind, spec: JsonObject, read: Observed | undefined): JsonObject {
  if (read === undefined) return spec
  const model = serviceModel('sagemaker')
  const shape = model.shapes.get(model.operations.get(`Describe${kind}`)?.output ?? '')
  const described = shape !== undefined && 'fields' in shape ? [...shape.fields.keys()].map(fieldName) : []
  return Object.fromEntries(Object.entries(spec).filter(([name]) => !described.includes(name)))
}

/** Returns the error that ACK's runtime would return for an outcome. */
function errorOf({ failure }: Outcome, conditions: readonly Condition[]): string | undefined {
  const isTrue = (type: string): boolean => conditions.some((one) => one.type === type && one.status === 'True')
  if (failure !== undefined) return `${failure.error.code}: ${failure.error.message}\n\tstatus code: 0, request id: `
  const synced = conditions.find(({ type }) => type === 'ACK.ResourceSynced')
  if (synced?.reason === 'ResourceNotFound') return 'resource not found'
  if (isTrue('ACK.Terminal') && synced?.status === 'False') return 'resource is in terminal condition'
  return synced?.status === 'False' && /cannot be modified or deleted|is Deleting/.test(synced.message)
    ? synced.message
    : undefined
}

/** Returns the expected state of a scenario; undefined when none is compared. */
export function expectedState({ folder, expect }: Scenario): KubeObject | undefined {
  return expect.latest_state === undefined || expect.latest_state === 'nil'
    ? undefined
    : fixture(folder, expect.latest_state)
}

/** Returns a value without empty collections and nulls; of times, that there is one. */
export function comparable(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') return value.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, 'a time')
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => comparable(item) ?? null)
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const fields = Object.entries(value as JsonObject).flatMap(([name, item]) => {
    const own = comparable(item)
    return own === undefined ? [] : [[name, own] as const]
  })
  return fields.length === 0 ? undefined : Object.fromEntries(fields)
}
