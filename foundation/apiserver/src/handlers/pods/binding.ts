// `pods/binding`: a POST of a Binding assigns a Pod to its node, once. The order of checks is that of BindingREST
// (kubernetes/kubernetes, pkg/registry/core/pod/storage/storage.go).
import { asObject, badRequest, conflict, failure, goQuote, isJsonObject, resourceNotFound } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, ObjectMeta } from '@fairlead/kube'
import { timestamp } from '../../objects/timestamp.ts'
import type { ServedResource } from '../../registry/registry.ts'
import { writeOptions } from '../../request/write-options.ts'
import { valueResponse } from '../../response/response.ts'
import { admissionAttributes } from '../admission-attributes.ts'
import { draftOf } from '../prepare.ts'
import { builtinKind, readObject } from '../request-object.ts'
import type { ResourceHandler } from '../resource-handlers.ts'
import type { ServerDependencies } from '../server-dependencies.ts'
import { setNamespace, updateObject } from '../update.ts'
import { setPodCondition } from './pod.ts'

const success: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
const bindingKind = builtinKind('v1', 'Binding')

/** Handles `pods/NAME/binding` and the older `bindings`. */
export const handleBinding: ResourceHandler = async (server, scope) => {
  const { admission, clock } = server
  const { form } = scope.output.object(scope.resource, scope.subresource)
  const options = writeOptions('CreateOptions', scope.query, scope.userAgent)
  const body = await readObject(server, scope, bindingKind, options.fieldValidation)
  setNamespace(scope, body)
  const attributes = admissionAttributes(scope, 'CREATE', asObject(body), undefined, options.dryRun)
  const binding = (await admission.mutate(attributes)) ?? body
  const metadata = (isJsonObject(binding['metadata']) ? binding['metadata'] : {}) as ObjectMeta
  if (scope.name !== '' && (metadata.name ?? '') !== scope.name)
    throw badRequest('name in URL does not match name in Binding object')
  const node = targetNode(binding)
  const name = metadata.name ?? ''
  if (name === '') throw badRequest('Name parameter required.')
  await admission.validate({ ...attributes, object: asObject(binding) })
  const refuse = (detail: string): Error => conflict({ group: '', plural: 'pods/binding' }, name, detail)
  await updateObject(
    server,
    { ...scope, resource: podResource(server), name, subresource: '' },
    {
      dryRun: options.dryRun,
      manager: options.fieldManager,
      internal: true,
      createsMissing: false,
      change: (pod) => {
        // The older path takes no UID.
        checkIdentity(pod!, scope.name === '' ? { ...metadata, uid: '' } : metadata)
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
        setPodCondition(draft, { type: 'PodScheduled', status: 'True' }, timestamp(clock.now()))
        return draft
      },
    },
  )
  return valueResponse(201, success, form)
}

/** Returns the node of a Binding. Its errors are 500 in the real server as well. */
function targetNode(binding: JsonObject): string {
  const target = isJsonObject(binding['target']) ? binding['target'] : {}
  const node = typeof target['name'] === 'string' ? target['name'] : ''
  const kind = typeof target['kind'] === 'string' ? target['kind'] : ''
  if (kind !== '' && kind !== 'Node') {
    const supported = `supported values: "Node", "<empty>"`
    throw failure(500, undefined, `target.kind: Unsupported value: ${goQuote(kind)}: ${supported}`)
  }
  if (node === '') throw failure(500, undefined, 'target.name: Required value')
  return node
}

/** A binding that names a UID or a revision is meant for that Pod alone. */
function checkIdentity(pod: KubeObject, { uid, resourceVersion }: ObjectMeta): void {
  const { uid: ownUid, resourceVersion: ownVersion } = pod.metadata
  const mismatch = (what: string, wanted: string, own: string | undefined): Error => {
    const detail = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${own}`
    const { namespace, name = '' } = pod.metadata
    const key = `/registry/pods/${namespace}/${name}`
    return conflict(
      { group: '', plural: 'pods' },
      name,
      `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${detail}`,
    )
  }
  if (uid !== undefined && uid !== '' && uid !== ownUid) throw mismatch('UID', uid, ownUid)
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== ownVersion)
    throw mismatch('ResourceVersion', resourceVersion, ownVersion)
}

function podResource({ registry }: ServerDependencies): ServedResource {
  const pods = registry.findKind('', 'v1', 'Pod')
  if (pods === undefined) throw resourceNotFound()
  return pods
}
