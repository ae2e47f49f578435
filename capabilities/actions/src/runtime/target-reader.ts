// Reads the resources that requests name, with the rights of the caller.
import type { KubeObject } from '@fairlead/kube'
import { ActionError } from '../engine/action-error.ts'
import type { ResourceKind } from '../engine/cluster.ts'
import type { KindTable } from './kind-table.ts'
import type { Caller } from './rights.ts'

/** Names a resource. Without apiVersion, the kind is looked up as kubectl does. */
export interface ResourceRef {
  readonly apiVersion?: string | undefined
  readonly kind: string
  /** `default` when left out. */
  readonly namespace?: string | undefined
  readonly name: string
}

/** Reads a resource as the caller. Throws ActionError 404 for an unknown kind, StatusError 403 and 404. */
export async function readTarget(kinds: KindTable, { client }: Caller, ref: ResourceRef): Promise<KubeObject> {
  const kind = await kindOf(kinds, ref)
  const key = { namespace: kind.namespaced ? (ref.namespace ?? 'default') : '', name: ref.name }
  return client.get({ apiVersion: kind.apiVersion, kind: kind.kind }, key)
}

async function kindOf(kinds: KindTable, { apiVersion, kind }: ResourceRef): Promise<ResourceKind> {
  const found = await kinds.kindOf(apiVersion === undefined ? kind : typeName(apiVersion, kind))
  if (found === undefined)
    throw new ActionError(
      404,
      'not-found',
      `the server has no kind "${kind}"${apiVersion === undefined ? '' : ` in ${apiVersion}`}`,
    )
  return apiVersion === undefined ? found : { ...found, apiVersion: apiVersion.replace(/^\//, '') }
}

/** Returns kubectl's long form of a kind: `deployment.v1.apps`, `pod.v1`. */
function typeName(apiVersion: string, kind: string): string {
  const [first = '', second] = apiVersion.replace(/^\//, '').split('/')
  return second === undefined ? `${kind}.${first}` : `${kind}.${first === '' ? '' : `${second}.${first}`}`
}
