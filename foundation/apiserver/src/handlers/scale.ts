// The scale subresource: an autoscaling/v1 Scale made from three fields of its parent, and written back as one of them.
import {
  applyServerSide,
  asJson,
  asObject,
  badRequest,
  cloneJson,
  fieldErrors,
  goQuote,
  internalError,
  invalid,
  isJsonObject,
  managedFieldsOfParent,
  managedFieldsOfScale,
  methodNotAllowed,
  notFound,
  selectorFrom,
  trackUpdate,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, LabelSelector, MutableJsonObject, ReplicasPaths } from '@fairlead/kube'
import { builtinSchema, messageOfKind, resourceName, typedForm } from '@fairlead/builtin-kinds'
import type { ServerResponse } from '../http/message.ts'
import { bodyBytes, decodeObject, parseBody } from '../request/body-decoder.ts'
import type { ExpectedKind } from '../request/body-decoder.ts'
import { answerValue } from '../response/response.ts'
import { patchOptions, writeOptions } from '../request/write-options.ts'
import type { WriteOptions } from '../request/write-options.ts'
import type { VersionDefinition } from '@fairlead/builtin-kinds'
import type { Environment, ResourceCall, ShownForm } from './server-dependencies.ts'
import { keyOfCall, timestamp } from './server-dependencies.ts'
import { modifyObject } from './update.ts'
import { applyPatchType, decodePatched, readApplied, readPatch, patchedValue } from './patch.ts'
import { draftOf } from './prepare.ts'
import type { Exchange } from './exchange.ts'
import { objectForm, patchTypeOf } from './exchange.ts'

const scaleVersion = 'autoscaling/v1'

/** Where a kind keeps what a Scale shows. */
interface ScalePaths {
  readonly replicas: readonly string[]
  readonly statusReplicas: readonly string[]
  /** A text in status (custom resources), or a label selector in spec (built-in kinds). */
  readonly selector: readonly string[] | undefined
}

const builtinPaths: ScalePaths = {
  replicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  selector: ['spec', 'selector'],
}

/**
 * Answers GET, PUT and PATCH of `/scale`.
 * @throws StatusError
 */
export async function scaleEndpoint(
  environment: Environment,
  exchange: Exchange,
  verb: string,
): Promise<ServerResponse> {
  const { call } = exchange
  const { form } = objectForm(exchange)
  const answer = (object: KubeObject): ServerResponse => answerValue(200, asJson(scaleOf(object, call)), form)
  if (verb === 'get') {
    const entry = await environment.store.get(
      resourceName(call.resource.definition),
      keyOfCall(call),
      undefined,
      call.signal,
    )
    if (entry === undefined) throw notFound(call.resource.definition, call.name)
    const { object } = await environment.views.of(entry, call.resource)
    checkReplicas(object, call)
    return answer(object)
  }
  const change =
    verb === 'update'
      ? readUpdate(environment, exchange)
      : verb === 'patch'
        ? readScalePatch(environment, exchange)
        : undefined
  if (change === undefined) throw methodNotAllowed()
  const shown: ShownForm = {
    of: (object) => scaleOf(object, call),
    take: (object, scale) =>
      setPath(object as MutableJsonObject, pathsOf(call.resource.version).replicas, replicasOf(scale)),
  }
  const written = await modifyObject(
    environment,
    { ...call, shown },
    {
      dryRun: change.options.dryRun,
      manager: change.options.fieldManager,
      isApplied: true,
      createsMissing: false,
      checksUid: true,
      change: (current) => writeScale(call, current!, change.to(scaleWithOwners(current!, call))),
    },
  )
  return answer(written.object)
}

/** A write of a Scale: from the Scale as it is to the one wanted, managedFields included. */
interface ScaleChange {
  readonly options: WriteOptions
  to(current: KubeObject): KubeObject
}

function readUpdate(environment: Environment, exchange: Exchange): ScaleChange {
  const { call, request, protobuf } = exchange
  const options = writeOptions('UpdateOptions', call.query, call.userAgent)
  const parsed = parseBody(request, scaleKind, protobuf?.decode)
  const { object, warnings } = decodeObject(parsed, scaleKind, options.fieldValidation, environment.registry)
  call.warnings.push(...warnings)
  return { options, to: (current) => tracked(environment, current, wanted(object, current, call), options) }
}

function readScalePatch(environment: Environment, exchange: Exchange): ScaleChange {
  const { call, request } = exchange
  const type = patchTypeOf(request)
  const isApply = type === applyPatchType
  const options = patchOptions(call.query, call.userAgent, isApply)
  const { body } = request
  const source = body !== undefined && !(body instanceof Uint8Array) ? body : (bodyBytes(request) ?? new Uint8Array())
  if (isApply) {
    const { object: applied } = readApplied(source)
    return {
      options,
      to: (current) =>
        applyServerSide({
          live: current,
          applied: asObject(applied),
          schemaFor: scaleSchema,
          manager: options.fieldManager,
          force: options.force,
          subresource: 'scale',
          now: timestamp(environment.clock.now()),
          resetFields: [['status']],
        }),
    }
  }
  const patch = readPatch(source, type, [])
  return {
    options,
    to: (current) => {
      const patched = patchedValue(scaleSchema(scaleVersion), asJson(current), type, patch)
      const { object } = decodePatched(
        scaleKind,
        patched.value,
        patched.shown,
        options.fieldValidation,
        environment.registry,
      )
      return tracked(environment, current, wanted(object, current, call), options)
    },
  }
}

function tracked(
  environment: Environment,
  current: KubeObject,
  updated: KubeObject,
  options: WriteOptions,
): KubeObject {
  return trackUpdate({
    live: current,
    updated,
    schemaFor: scaleSchema,
    manager: options.fieldManager,
    subresource: 'scale',
    now: timestamp(environment.clock.now()),
    resetFields: [['status']],
  })
}

/** The Scale that a body asks for, at home in the place that the path names. @throws StatusError 400 */
function wanted(body: JsonObject, current: KubeObject, call: ResourceCall): KubeObject {
  const metadata = isJsonObject(body['metadata']) ? body['metadata'] : {}
  const {
    name = '',
    namespace = '',
    resourceVersion,
    uid = '',
  } = metadata as { name?: string; namespace?: string; resourceVersion?: string; uid?: string }
  if (name !== '' && name !== call.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${call.name})`)
  }
  if (namespace !== '' && namespace !== call.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  const { resourceVersion: _current, ...rest } = current.metadata
  return {
    ...current,
    spec: body['spec'] ?? {},
    metadata: {
      ...rest,
      ...(uid === '' ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  }
}

function replicasOf(scale: KubeObject): number {
  return (scale['spec'] as { replicas?: number } | undefined)?.replicas ?? 0
}

/** The parent with the replicas and owners of a Scale. @throws StatusError 422 */
function writeScale(call: ResourceCall, current: KubeObject, scale: KubeObject): JsonObject {
  const { definition, apiVersion, version } = call.resource
  const paths = pathsOf(version)
  const replicas = replicasOf(scale)
  // A custom resource has its schema to judge what is wanted.
  if (replicas < 0 && definition.crd === undefined) {
    throw invalid({ group: 'autoscaling', kind: 'Scale' }, call.name, [
      fieldErrors.invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ])
  }
  if (replicas === unsetReplicas)
    throw badRequest(`the spec replicas field ${goQuote(`.${paths.replicas.join('.')}`)} cannot be empty`)
  const draft = draftOf(current)
  setPath(draft, paths.replicas, replicas)
  const owners = managedFieldsOfParent(
    current.metadata.managedFields,
    scale.metadata.managedFields,
    apiVersion,
    replicasPaths(call),
  )
  if (owners === undefined) delete draft.metadata['managedFields']
  else draft.metadata['managedFields'] = cloneJson(owners as unknown as JsonValue)
  const { resourceVersion, uid } = scale.metadata
  if (uid !== undefined && uid !== '') draft.metadata['uid'] = uid
  if (resourceVersion !== undefined && resourceVersion !== '') draft.metadata['resourceVersion'] = resourceVersion
  return draft
}

/** What writes see of a custom resource without replicas: the smallest int32. It has to be replaced. */
const unsetReplicas = -(2 ** 31)

/** @throws StatusError 500 where a custom resource has no replicas */
function checkReplicas(object: KubeObject, { resource }: ResourceCall): void {
  const { replicas } = pathsOf(resource.version)
  if (resource.definition.crd === undefined || valueAt(asJson(object), replicas) !== undefined) return
  throw internalError(`the spec replicas field ${goQuote(`.${replicas.join('.')}`)} does not exist`)
}

/** The Scale of an object; `unset` stands for replicas that a custom resource does not have. */
function scaleOf(object: KubeObject, call: ResourceCall, unset = 0): KubeObject {
  const paths = pathsOf(call.resource.version)
  const isCustom = call.resource.definition.crd !== undefined
  const replicas = valueAt(asJson(object), paths.replicas) ?? (isCustom ? unset : undefined)
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const selector = selectorText(valueAt(asJson(object), paths.selector ?? []), call)
  const statusReplicas = valueAt(asJson(object), paths.statusReplicas)
  return {
    kind: 'Scale',
    apiVersion: scaleVersion,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: typeof replicas === 'number' && replicas !== 0 ? { replicas } : {},
    status: {
      replicas: typeof statusReplicas === 'number' ? statusReplicas : 0,
      ...(selector === '' ? {} : { selector }),
    },
  }
}

function scaleWithOwners(object: KubeObject, call: ResourceCall): KubeObject {
  const scale = scaleOf(object, call, unsetReplicas)
  const managedFields = managedFieldsOfScale(object.metadata.managedFields, replicasPaths(call))
  return managedFields === undefined ? scale : { ...scale, metadata: { ...scale.metadata, managedFields } }
}

function selectorText(value: JsonValue | undefined, call: ResourceCall): string {
  if (typeof value === 'string') return value
  if (!isJsonObject(value)) return ''
  const isMap = call.resource.definition.plural === 'replicationcontrollers'
  return selectorFrom((isMap ? { matchLabels: value } : value) as LabelSelector).toString()
}

function pathsOf({ scale }: VersionDefinition): ScalePaths {
  if (scale === undefined) return builtinPaths
  return {
    replicas: simplePath(scale.specReplicasPath),
    statusReplicas: simplePath(scale.statusReplicasPath),
    selector: scale.labelSelectorPath === undefined ? undefined : simplePath(scale.labelSelectorPath),
  }
}

function replicasPaths({ resource }: ResourceCall): ReplicasPaths {
  const { definition } = resource
  return Object.fromEntries(
    definition.versions.map((version) => [
      definition.group === '' ? version.name : `${definition.group}/${version.name}`,
      definition.crd !== undefined && version.scale === undefined ? undefined : pathsOf(version).replicas,
    ]),
  )
}

/** `.spec.replicas` as names. */
function simplePath(path: string): readonly string[] {
  return path.split('.').filter((name) => name !== '')
}

function valueAt(object: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = path.length === 0 ? undefined : object
  for (const name of path) value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

function setPath(object: MutableJsonObject, path: readonly string[], value: JsonValue): void {
  let target = object
  for (const name of path.slice(0, -1)) {
    const inner = target[name]
    target = (isJsonObject(inner) ? inner : (target[name] = {})) as MutableJsonObject
  }
  target[path.at(-1)!] = value
}

function scaleSchema(apiVersion: string): ReturnType<typeof builtinSchema> {
  return apiVersion === scaleVersion ? builtinSchema(scaleVersion, 'Scale') : undefined
}

const scaleMessage = messageOfKind(scaleVersion, 'Scale')

const scaleKind: ExpectedKind = {
  apiVersion: scaleVersion,
  kind: 'Scale',
  isCustom: false,
  decode: (body) => (scaleMessage === undefined ? { object: body, unknownFields: [] } : typedForm(scaleMessage, body)),
}
