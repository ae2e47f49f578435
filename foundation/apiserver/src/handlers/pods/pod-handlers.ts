// Subresources of Pods that are more than a view of the Pod: binding to a node, eviction, logs, and the connections that need a kubelet.
import {
  asObject,
  badRequest,
  conflict,
  failure,
  goQuote,
  isJsonObject,
  notFound,
  resourceNotFound,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, ObjectMeta } from '@fairlead/kube'
import { messageOfKind, resourceName, typedForm } from '@fairlead/builtin-kinds'
import type { AdmissionAttributes } from '../../admission/attributes.ts'
import { writeOptionsObject } from '../../admission/options-object.ts'
import type { ServerResponse } from '../../http/message.ts'
import { decodeObject, parseBody } from '../../request/body-decoder.ts'
import type { ExpectedKind } from '../../request/body-decoder.ts'
import { booleanParameter, integerParameter } from '../../request/query.ts'
import { answerValue, uncached } from '../../response/response.ts'
import { deleteOptions, writeOptions } from '../../request/write-options.ts'
import type { WriteOptions } from '../../request/write-options.ts'
import type { ServedResource } from '../../registry/registry.ts'
import type { SubresourceEndpoint, SubresourceEndpoints } from '../resource-handlers.ts'
import { deleteObject } from '../delete.ts'
import { takeDisruption } from './disruption-budget.ts'
import type { Environment, ResourceCall } from '../server-dependencies.ts'
import { keyOfCall, timestamp } from '../server-dependencies.ts'
import { modifyObject } from '../update.ts'
import { draftOf } from '../prepare.ts'
import type { Exchange } from '../exchange.ts'
import { objectForm } from '../exchange.ts'

/** What a reader of logs wants. */
export interface LogRequest {
  /** '' = the only one. */
  readonly container: string
  readonly follow: boolean
  readonly previous: boolean
  readonly timestamps: boolean
  readonly tailLines: number | undefined
  readonly signal: AbortSignal
}

/** Where logs of Pods come from; undefined when it knows nothing of this Pod. */
export type PodLogs = (pod: KubeObject, request: LogRequest) => AsyncIterable<Uint8Array> | undefined

/** The endpoints of Pods. Without a source of logs only Pods that never ran have any (empty ones). */
export function podEndpoints(logs?: PodLogs): SubresourceEndpoints {
  return {
    'pods/binding': bind,
    bindings: bind,
    'pods/eviction': evict,
    'pods/log': (environment, exchange) => answerLogs(environment, exchange, logs),
    'pods/exec': refuseConnection,
    'pods/attach': refuseConnection,
    'pods/portforward': refuseConnection,
    'pods/proxy': refuseConnection,
  }
}

const success: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }

/** POST of a Binding: the Pod gets its node, once. */
const bind: SubresourceEndpoint = async (environment, exchange) => {
  const { call } = exchange
  const { form } = objectForm(exchange)
  const { object: binding, options } = readBody(environment, exchange, expectedKind('v1', 'Binding'))
  const target = isJsonObject(binding['target']) ? binding['target'] : {}
  const node = typeof target['name'] === 'string' ? target['name'] : ''
  const kind = typeof target['kind'] === 'string' ? target['kind'] : ''
  // Errors of a binding reach the client as those of the server: the real one does not tell them apart.
  if (kind !== '' && kind !== 'Node')
    throw failure(
      500,
      undefined,
      `target.kind: Unsupported value: ${goQuote(kind)}: supported values: "Node", "<empty>"`,
    )
  if (node === '') throw failure(500, undefined, 'target.name: Required value')
  const metadata = (isJsonObject(binding['metadata']) ? binding['metadata'] : {}) as ObjectMeta
  if (call.name !== '' && (metadata.name ?? '') !== call.name)
    throw badRequest('name in URL does not match name in Binding object')
  const name = metadata.name ?? ''
  if (name === '') throw badRequest('Name parameter required.')
  const refuse = (detail: string): Error => conflict({ group: '', plural: 'pods/binding' }, name, detail)
  await modifyObject(
    environment,
    { ...call, resource: podResource(environment), name, subresource: 'binding' },
    {
      dryRun: options.dryRun,
      manager: options.fieldManager,
      createsMissing: false,
      change: (pod) => {
        // The older endpoint takes no UID.
        checkIdentity(pod!, call.name === '' ? { ...metadata, uid: '' } : metadata)
        const draft = draftOf(pod!)
        const spec = draft['spec'] as { nodeName?: string; schedulingGates?: readonly JsonValue[] }
        if (pod!.metadata.deletionTimestamp !== undefined)
          throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`)
        if (spec.nodeName !== undefined && spec.nodeName !== '')
          throw refuse(`pod ${name} is already assigned to node "${spec.nodeName}"`)
        if ((spec.schedulingGates ?? []).length > 0) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`)
        spec.nodeName = node
        for (const field of ['annotations', 'labels'] as const) {
          const given = metadata[field] ?? {}
          if (Object.keys(given).length > 0) draft.metadata[field] = { ...pod!.metadata[field], ...given }
        }
        setPodCondition(draft, { type: 'PodScheduled', status: 'True' }, timestamp(environment.clock.now()))
        return draft
      },
    },
  )
  return answerValue(201, success, form)
}

/** A binding that names a UID or a revision is meant for that Pod alone. */
function checkIdentity(pod: KubeObject, { uid, resourceVersion }: ObjectMeta): void {
  const { uid: ownUid, resourceVersion: ownVersion } = pod.metadata
  const differs = (what: string, wanted: string, own: string | undefined): Error => {
    const detail = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${own}`
    const { namespace, name = '' } = pod.metadata
    const key = `/registry/pods/${namespace}/${name}`
    return conflict(
      { group: '', plural: 'pods' },
      name,
      `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${detail}`,
    )
  }
  if (uid !== undefined && uid !== '' && uid !== ownUid) throw differs('UID', uid, ownUid)
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== ownVersion)
    throw differs('ResourceVersion', resourceVersion, ownVersion)
}

function podResource({ registry }: Environment): ServedResource {
  const pods = registry.findKind('', 'v1', 'Pod')
  if (pods === undefined) throw resourceNotFound()
  return pods
}

/** POST of an Eviction: a DELETE that budgets may refuse. */
const evict: SubresourceEndpoint = async (environment, exchange) => {
  const { call } = exchange
  const { form } = objectForm(exchange)
  const { object: eviction, options } = readBody(environment, exchange, expectedKind('policy/v1', 'Eviction'))
  const metadata = isJsonObject(eviction['metadata']) ? eviction['metadata'] : {}
  const name = typeof metadata['name'] === 'string' ? metadata['name'] : ''
  if (name !== call.name) throw badRequest('name in URL does not match name in Eviction object')
  const given = isJsonObject(eviction['deleteOptions']) ? eviction['deleteOptions'] : {}
  const { kind: _kind, apiVersion: _version, ...rest } = given
  const deletion = deleteOptions(new URLSearchParams(), rest)
  await admitEviction(environment, call, eviction, options.dryRun)
  const dryRun = deletion.dryRun || options.dryRun
  await takeDisruption(environment, call, await readPod(environment, call), dryRun)
  if (!dryRun) await markDisrupted(environment, call)
  await deleteObject(environment, call, { ...deletion, dryRun })
  return answerValue(201, success, form)
}

/** An evicted pod says why it goes. */
async function markDisrupted(environment: Environment, call: ResourceCall): Promise<void> {
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  }
  await modifyObject(
    environment,
    { ...call, subresource: 'binding' },
    {
      dryRun: false,
      manager: '',
      createsMissing: false,
      change: (found) => {
        const draft = draftOf(found!)
        setPodCondition(draft, condition, timestamp(environment.clock.now()))
        return draft
      },
    },
  )
}

/** Webhooks that guard evictions see a creation of `pods/eviction`; what they would change of it has no meaning. */
async function admitEviction(
  { admission }: Environment,
  call: ResourceCall,
  eviction: JsonObject,
  dryRun: boolean,
): Promise<void> {
  const { name, namespace, resource, subresource, user, signal, warnings, query } = call
  const object = asObject({
    ...eviction,
    metadata: { ...(eviction['metadata'] as JsonObject | undefined), name, namespace },
  })
  const request: AdmissionAttributes = {
    operation: 'CREATE',
    resource,
    subresource,
    namespace,
    name,
    object,
    oldObject: undefined,
    user,
    dryRun,
    signal,
    options: () => writeOptionsObject('CreateOptions', query),
    warnings,
  }
  await admission.mutate(request)
  await admission.validate(request)
}

async function answerLogs(
  environment: Environment,
  { call }: Exchange,
  logs: PodLogs | undefined,
): Promise<ServerResponse> {
  const pod = await readPod(environment, call)
  const request: LogRequest = {
    container: call.query.get('container') ?? '',
    follow: booleanParameter(call.query, 'follow') ?? false,
    previous: booleanParameter(call.query, 'previous') ?? false,
    timestamps: booleanParameter(call.query, 'timestamps') ?? false,
    tailLines: integerParameter(call.query, 'tailLines'),
    signal: call.signal,
  }
  const chunks = logs?.(pod, request)
  const headers = { ...uncached, 'content-type': 'text/plain' }
  if (chunks !== undefined) return { status: 200, headers, body: { kind: 'stream', chunks } }
  if (nodeOf(pod) === '') return { status: 200, headers, body: { kind: 'bytes', bytes: new Uint8Array() } }
  const message = `pods "${call.name}" has no logs: nothing in this server runs it. Start a runner, or ask the cluster that does.`
  throw failure(404, 'NotFound', message, { name: call.name, kind: 'pods' })
}

const refuseConnection: SubresourceEndpoint = async (environment, { call }) => {
  const pod = await readPod(environment, call)
  if (nodeOf(pod) === '') throw badRequest(`pod ${call.name} does not have a host assigned`)
  throw failure(
    501,
    'NotImplemented',
    `this server has no kubelets: ${call.subresource} into containers is not possible`,
  )
}

async function readPod({ store, views }: Environment, call: ResourceCall): Promise<KubeObject> {
  const entry = await store.get(resourceName(call.resource.definition), keyOfCall(call))
  if (entry === undefined) throw notFound(call.resource.definition, call.name)
  return (await views.of(entry, call.resource)).object
}

function nodeOf(pod: KubeObject): string {
  return (pod['spec'] as { nodeName?: string } | undefined)?.nodeName ?? ''
}

function setPodCondition(pod: { [field: string]: JsonValue }, next: JsonObject, now: string): void {
  const status = isJsonObject(pod['status']) ? pod['status'] : {}
  const conditions = (status['conditions'] ?? []) as readonly JsonObject[]
  const old = conditions.find((item) => item['type'] === next['type'])
  const placed = {
    ...next,
    lastProbeTime: null,
    lastTransitionTime: old?.['status'] === next['status'] ? (old?.['lastTransitionTime'] ?? now) : now,
  }
  pod['status'] = {
    ...status,
    conditions: old === undefined ? [...conditions, placed] : conditions.map((item) => (item === old ? placed : item)),
  }
}

function readBody(
  environment: Environment,
  { request, call, protobuf }: Exchange,
  expected: ExpectedKind,
): { object: JsonObject; options: WriteOptions } {
  const options = writeOptions('CreateOptions', call.query, call.userAgent)
  const { object, warnings } = decodeObject(
    parseBody(request, expected, protobuf?.decode),
    expected,
    options.fieldValidation,
    environment.registry,
  )
  call.warnings.push(...warnings)
  return { object, options }
}

function expectedKind(apiVersion: string, kind: string): ExpectedKind {
  const message = messageOfKind(apiVersion, kind)
  return {
    apiVersion,
    kind,
    isCustom: false,
    decode: (body) => (message === undefined ? { object: body, unknownFields: [] } : typedForm(message, body)),
  }
}
