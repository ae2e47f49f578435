// The shorthand of tables and objects in ack.json, read into kinds and objects.
import type { ResourceKind } from '@fairlead/aws'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { BothSet, Identifier, ReferenceRow, WaitFor } from '@fairlead/references'

export const group = 'case.services.k8s.aws'
export const version = 'v1alpha1'
export const account = '111122223333'
export const region = 'us-east-1'

/** A row of a case's table. */
export interface CaseRow {
  readonly field: string
  readonly ref: string
  readonly kind: string
  readonly value: string
  readonly required?: boolean
  readonly list?: boolean
  readonly identifier?: Identifier
  readonly format?: string
  readonly wait_for?: WaitFor
}

/** The table of a case: kind -> rows. */
export type CaseTable = Readonly<Record<string, readonly CaseRow[]>>

/** An object of a case. */
export interface CaseObject {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly generation?: number
  readonly spec: JsonObject
  readonly annotations?: Readonly<Record<string, string>>
  readonly status?: JsonObject
  readonly synced?: string
  readonly terminal?: string
  readonly observedGeneration?: number
  readonly deleting?: boolean
  readonly inAWS?: boolean
  readonly resolvedReferences?: JsonObject
}

/** Returns the finalizer of a kind. */
export function finalizerOf(kind: string): string {
  return `finalizers.${group}/${kind}`
}

/** Returns the plural of a kind in cases. */
export function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}s`
}

/** Returns the facts of a kind. Models and endpoint configurations cannot be changed. */
export function kindOf(table: CaseTable, kind: string, bothSet: BothSet = 'prefer_external'): ResourceKind {
  const rows = (table[kind] ?? []).map((row): ReferenceRow => ({
    group,
    version,
    kind: row.kind,
    valuePath: row.value,
    fieldPath: row.field,
    refPath: row.ref,
    list: row.list === true,
    required: row.required === true,
    waitFor: row.wait_for ?? 'Synced',
    bothSet,
    ...(row.identifier === undefined ? {} : { identifier: row.identifier }),
    ...(row.format === undefined ? {} : { format: row.format }),
  }))
  return {
    group,
    version,
    kind,
    plural: pluralOf(kind),
    rows,
    updatable: !['Model', 'EndpointConfig'].includes(kind),
    uncompared: [],
    cleared: [],
    lateInitialized: [],
    documents: [],
    terminalCodes: [],
    ...(kind === 'Endpoint'
      ? {
          states: {
            field: 'endpointStatus',
            modifying: ['Creating', 'Updating', 'Deleting'],
            failed: ['Failed'],
            reasonField: 'failureReason',
          },
        }
      : {}),
  }
}

/** Returns the ARN that a resource of a case has. */
export function arnOf({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `arn:aws:case:${region}:${account}:${kind.toLowerCase()}/${name}`
}

/** Returns the conditions of a referent. */
export function conditionsOf(
  { synced, terminal }: Pick<CaseObject, 'synced' | 'terminal'>,
  observedGeneration: number | undefined,
): readonly JsonObject[] {
  const at: JsonObject = observedGeneration === undefined ? {} : { observedGeneration }
  const given = (type: string, status: string | undefined): readonly JsonObject[] =>
    status === undefined ? [] : [{ type, status, reason: 'Case', message: '', ...at }]
  return [...given('ACK.ResourceSynced', synced), ...given('ACK.Terminal', terminal)]
}

/** Returns an object as it is stored. */
export function objectOf(table: CaseTable, given: CaseObject): KubeObject {
  const { kind, namespace, name, generation = 1, annotations, deleting, inAWS, resolvedReferences } = given
  const holds = deleting === true || inAWS === true
  const rows = kindOf(table, kind).rows
  const resolved = Object.entries(resolvedReferences ?? {}).map(([path, value]) => ({
    path,
    value,
    state: 'Resolved',
    referent: referentOf(rows, given, path),
  }))
  const status = {
    ...given.status,
    ...(inAWS === true ? { ackResourceMetadata: { arn: arnOf(given), ...metadataOf(given.status) } } : {}),
    ...(inAWS === true && kind === 'Endpoint' ? { endpointStatus: 'InService' } : {}),
    ...(resolved.length === 0 ? {} : { resolvedReferences: resolved }),
    conditions: conditionsOf(given, given.observedGeneration),
  }
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: {
      name,
      namespace,
      generation,
      uid: `uid-of-${kind}-${namespace}-${name}`,
      ...(annotations === undefined ? {} : { annotations }),
      ...(holds ? { finalizers: [finalizerOf(kind)] } : {}),
      ...(deleting === true ? { deletionTimestamp: '2026-01-02T00:00:00Z' } : {}),
    },
    spec: given.spec,
    status,
  } as unknown as KubeObject
}

function metadataOf(status: JsonObject | undefined): JsonObject {
  return (status?.['ackResourceMetadata'] ?? {}) as JsonObject
}

function referentOf(rows: readonly ReferenceRow[], { namespace, spec }: CaseObject, path: string): JsonObject {
  const row = rows.find(({ fieldPath }) => fieldPath === path.replaceAll(/\[\d+\]/g, '[]'))
  if (row === undefined) throw new Error(`the table has no row for ${path}`)
  const last = row.refPath.split('.').at(-1) as string
  let at: unknown = spec
  const steps = path.split('.').slice(0, -1)
  for (const step of [...steps, last]) {
    const [, name = '', index] = /^([^[]+)(?:\[(\d+)\])?$/.exec(step) ?? []
    at = (at as JsonObject)[name]
    if (index !== undefined) at = (at as readonly unknown[])[Number(index)]
  }
  const reference = at as { readonly name?: string; readonly namespace?: string }
  return { group, kind: row.kind, namespace: reference.namespace ?? namespace, name: reference.name ?? '' }
}
