// The scale subresource: an autoscaling/v1 Scale made from three fields of its parent, of which one can be written.
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
import { builtinSchema, customScalePrinter, resourceName, scalePrinter } from '@fairlead/builtin-kinds'
import type { ServerResponse } from '../http/message.ts'
import type { ObjectOutput } from '../response/output-negotiation.ts'
import { valueResponse } from '../response/response.ts'
import { patchOptions, writeOptions } from '../request/write-options.ts'
import type { WriteOptions } from '../request/write-options.ts'
import type { VersionDefinition } from '@fairlead/builtin-kinds'
import { readApplied } from './apply.ts'
import { builtinKind, readObject } from './request-object.ts'
import { undeterminableName, updateObject } from './update.ts'
import { decodePatched, patchSource, patchTypeOf, readPatch, patchedValue } from './patch.ts'
import { draftOf } from './prepare.ts'
import { objectKey } from './request-scope.ts'
import type { PresentedForm, RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { timestamp } from '../objects/timestamp.ts'
import { transformObject } from '../views/transforms.ts'
import { originRules } from '../objects/origin-rules.ts'
import { applyPatchType } from '../http/media-type.ts'

const scaleVersion = 'autoscaling/v1'

/** Paths of the fields that a Scale presents. */
interface ScalePaths {
  readonly replicas: readonly string[]
  readonly statusReplicas: readonly string[]
  /** A string in status (custom resources), or a label selector in spec (built-in kinds). */
  readonly selector: readonly string[] | undefined
}

const builtinPaths: ScalePaths = {
  replicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  selector: ['spec', 'selector'],
}

/**
 * Handles GET, PUT and PATCH of `/scale`.
 * @throws StatusError
 */
export async function handleScale(server: ServerDependencies, scope: RequestScope): Promise<ServerResponse> {
  const output = scope.output.object(scope.resource, scope.subresource)
  const { verb } = scope
  const respond = (object: KubeObject): ServerResponse => scaleResponse(server, scope, output, scaleOf(object, scope))
  if (verb === 'get') {
    const entry = await server.store.get(
      resourceName(scope.resource.definition),
      objectKey(scope),
      undefined,
      scope.signal,
    )
    if (entry === undefined) throw notFound(scope.resource.definition, scope.name)
    const { object } = await server.views.of(entry, scope.resource)
    checkReplicas(object, scope)
    return respond(object)
  }
  const change =
    verb === 'update' ? await readUpdate(server, scope) : verb === 'patch' ? readScalePatch(server, scope) : undefined
  if (change === undefined) throw methodNotAllowed()
  const presented: PresentedForm = {
    of: (object) => scaleOf(object, scope),
    writeBack: (object, scale) =>
      setPath(object as MutableJsonObject, pathsOf(scope.resource.version).replicas, replicasOf(scale)),
  }
  const written = await updateObject(
    server,
    { ...scope, presented },
    {
      dryRun: change.options.dryRun,
      manager: change.options.fieldManager,
      isApplied: true,
      createsMissing: false,
      checksUid: true,
      change: async (current) => writeScale(scope, current!, await change.to(scaleWithManagedFields(current!, scope))),
    },
  )
  return respond(written.object)
}

/** Returns a Scale as the client requested it. */
function scaleResponse(
  server: ServerDependencies,
  scope: RequestScope,
  { form, negotiated: { transform } }: ObjectOutput,
  scale: KubeObject,
): ServerResponse {
  const printer = originRules(scope.resource.definition).isUnstructured ? customScalePrinter : scalePrinter
  const printed = { definition: { group: 'autoscaling', kind: 'Scale' }, version: { printer } }
  const body = transformObject(scale, transform, printed, scope.query, server.clock.now())
  return valueResponse(200, body as JsonObject, form)
}

/** A write of a Scale: from the current Scale to the requested one, managedFields included. */
interface ScaleChange {
  readonly options: WriteOptions
  to(current: KubeObject): KubeObject | Promise<KubeObject>
}

async function readUpdate(server: ServerDependencies, scope: RequestScope): Promise<ScaleChange> {
  const options = writeOptions('UpdateOptions', scope.query, scope.userAgent)
  const object = await readObject(server, scope, scaleKind, options.fieldValidation)
  const { name } = isJsonObject(object['metadata']) ? object['metadata'] : { name: '' }
  if (name === undefined || name === '') throw undeterminableName(scope)
  return { options, to: (current) => tracked(server, current, requestedScale(object, current, scope), options) }
}

function readScalePatch(server: ServerDependencies, scope: RequestScope): ScaleChange {
  const type = patchTypeOf(scope)
  const isApply = type === applyPatchType
  const options = patchOptions(scope.query, scope.userAgent, isApply)
  const source = patchSource(scope)
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
          now: timestamp(server.clock.now()),
          resetFields: [['status']],
        }),
    }
  }
  const patch = readPatch(source, type, [])
  return {
    options,
    to: async (current) => {
      const patched = await patchedValue(scaleSchema(scaleVersion), asJson(current), type, patch)
      const { object } = decodePatched(
        scaleKind,
        patched.value,
        patched.shown,
        options.fieldValidation,
        server.registry,
      )
      return tracked(server, current, requestedScale(object, current, scope), options)
    },
  }
}

function tracked(
  server: ServerDependencies,
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
    now: timestamp(server.clock.now()),
    resetFields: [['status']],
  })
}

/**
 * Returns the Scale of a body, with the name and namespace of the path.
 * @throws StatusError 400
 */
function requestedScale(body: JsonObject, current: KubeObject, scope: RequestScope): KubeObject {
  const metadata = isJsonObject(body['metadata']) ? body['metadata'] : {}
  const {
    name = '',
    namespace = '',
    resourceVersion,
    uid = '',
  } = metadata as { name?: string; namespace?: string; resourceVersion?: string; uid?: string }
  if (name !== '' && name !== scope.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${scope.name})`)
  }
  if (namespace !== '' && namespace !== scope.namespace) {
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

/**
 * Returns the parent with the replicas and managedFields of a Scale.
 * @throws StatusError 422
 */
function writeScale(scope: RequestScope, current: KubeObject, scale: KubeObject): JsonObject {
  const { definition, apiVersion, version } = scope.resource
  const paths = pathsOf(version)
  const replicas = replicasOf(scale)
  // The schema of a custom resource validates its replicas.
  if (replicas < 0 && !originRules(definition).isUnstructured) {
    throw invalid({ group: 'autoscaling', kind: 'Scale' }, scope.name, [
      fieldErrors.invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ])
  }
  if (replicas === unsetReplicas)
    throw badRequest(`the spec replicas field ${goQuote(`.${paths.replicas.join('.')}`)} cannot be empty`)
  const draft = draftOf(current)
  setPath(draft, paths.replicas, replicas)
  const managedFields = managedFieldsOfParent(
    current.metadata.managedFields,
    scale.metadata.managedFields,
    apiVersion,
    replicasPaths(scope),
  )
  if (managedFields === undefined) delete draft.metadata['managedFields']
  else draft.metadata['managedFields'] = cloneJson(managedFields as unknown as JsonValue)
  const { resourceVersion, uid } = scale.metadata
  if (uid !== undefined && uid !== '') draft.metadata['uid'] = uid
  if (resourceVersion !== undefined && resourceVersion !== '') draft.metadata['resourceVersion'] = resourceVersion
  return draft
}

/** The replicas that writes see where a custom resource has none: the smallest int32. They must replace it. */
const unsetReplicas = -(2 ** 31)

/** @throws StatusError 500 where a custom resource has no replicas */
function checkReplicas(object: KubeObject, { resource }: RequestScope): void {
  const { replicas } = pathsOf(resource.version)
  if (!originRules(resource.definition).isUnstructured || valueAt(asJson(object), replicas) !== undefined) return
  throw internalError(`the spec replicas field ${goQuote(`.${replicas.join('.')}`)} does not exist`)
}

/** Returns the Scale of an object; `unset` are the replicas where a custom resource has none. */
function scaleOf(object: KubeObject, scope: RequestScope, unset = 0): KubeObject {
  const paths = pathsOf(scope.resource.version)
  const { isUnstructured } = originRules(scope.resource.definition)
  const replicas = valueAt(asJson(object), paths.replicas) ?? (isUnstructured ? unset : undefined)
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const selector = selectorString(valueAt(asJson(object), paths.selector ?? []), scope)
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

function scaleWithManagedFields(object: KubeObject, scope: RequestScope): KubeObject {
  const scale = scaleOf(object, scope, unsetReplicas)
  const managedFields = managedFieldsOfScale(object.metadata.managedFields, replicasPaths(scope))
  return managedFields === undefined ? scale : { ...scale, metadata: { ...scale.metadata, managedFields } }
}

function selectorString(value: JsonValue | undefined, scope: RequestScope): string {
  if (typeof value === 'string') return value
  if (!isJsonObject(value)) return ''
  const isMap = scope.resource.definition.plural === 'replicationcontrollers'
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

function replicasPaths({ resource }: RequestScope): ReplicasPaths {
  const { definition } = resource
  return Object.fromEntries(
    definition.versions.map((version) => [
      definition.group === '' ? version.name : `${definition.group}/${version.name}`,
      originRules(definition).isUnstructured && version.scale === undefined ? undefined : pathsOf(version).replicas,
    ]),
  )
}

/** Splits `.spec.replicas` into field names. */
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

const scaleKind = builtinKind(scaleVersion, 'Scale')
