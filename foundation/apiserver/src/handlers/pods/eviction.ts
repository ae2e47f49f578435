// `pods/eviction`: a POST of an Eviction is a DELETE that disruption budgets may refuse. Admission sees the creation of
// the Eviction, and nothing of its effects (kubernetes/kubernetes, pkg/registry/core/pod/storage/eviction.go).
import { asObject, badRequest, isJsonObject } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { timestamp } from '../../objects/timestamp.ts'
import { deleteOptions, writeOptions } from '../../request/write-options.ts'
import { valueResponse } from '../../response/response.ts'
import { admissionAttributes } from '../admission-attributes.ts'
import { deleteObject } from '../delete.ts'
import { draftOf } from '../prepare.ts'
import { builtinKind, readObject } from '../request-object.ts'
import type { RequestScope } from '../request-scope.ts'
import type { ResourceHandler } from '../resource-handlers.ts'
import type { ServerDependencies } from '../server-dependencies.ts'
import { setNamespace, updateObject } from '../update.ts'
import { takeDisruption } from './disruption-budget.ts'
import { readPod, setPodCondition } from './pod.ts'

const success: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
const evictionKind = builtinKind('policy/v1', 'Eviction')

/** Handles `pods/NAME/eviction`. */
export const handleEviction: ResourceHandler = async (server, scope) => {
  const { admission } = server
  const { form } = scope.output.object(scope.resource, scope.subresource)
  const options = writeOptions('CreateOptions', scope.query, scope.userAgent)
  const body = await readObject(server, scope, evictionKind, options.fieldValidation)
  setNamespace(scope, body)
  const attributes = admissionAttributes(scope, 'CREATE', asObject(body), undefined, options.dryRun)
  const eviction = (await admission.mutate(attributes)) ?? body
  const object = asObject(eviction)
  if (object.metadata.name !== scope.name) throw badRequest('name in URL does not match name in Eviction object')
  const given = isJsonObject(eviction['deleteOptions']) ? eviction['deleteOptions'] : {}
  const { kind: _kind, apiVersion: _version, ...rest } = given
  const deletion = deleteOptions(new URLSearchParams(), rest)
  await admission.validate({ ...attributes, object })
  const dryRun = deletion.dryRun || options.dryRun
  const pod: RequestScope = { ...scope, subresource: '' }
  await takeDisruption(server, pod, await readPod(server, pod), dryRun)
  if (!dryRun) await markDisrupted(server, pod)
  await deleteObject(server, pod, { ...deletion, dryRun }, true)
  return valueResponse(201, success, form)
}

/** Adds the condition with the reason for the deletion of an evicted pod. */
async function markDisrupted(server: ServerDependencies, scope: RequestScope): Promise<void> {
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  }
  await updateObject(server, scope, {
    dryRun: false,
    manager: '',
    internal: true,
    createsMissing: false,
    change: (found) => {
      const draft = draftOf(found!)
      setPodCondition(draft, condition, timestamp(server.clock.now()))
      return draft
    },
  })
}
