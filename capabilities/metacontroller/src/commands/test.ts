// `fairlead metacontroller test`: plays cases for the hooks of controllers with the engine alone.
import { isDeepStrictEqual } from 'node:util'
import type { CommandContext } from '@fairlead/controller/command'
import type { KubeObject } from '@fairlead/kube'
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import { CommandError, hostAddresses, manifestFiles, readDocuments, testSummary } from '@fairlead/offline'
import { inputAnnotation } from '../engine/tag.ts'
import type { CaseOutcome } from '../offline/case-player.ts'
import { playCase } from '../offline/case-player.ts'
import { definitionOf } from '../offline/case-resource.ts'
import { controllerUid } from '../offline/case-state.ts'
import type { CaseResource, MapCase, WantedRequest, WantedWrite } from '../offline/map-case.ts'
import { hasNamedHooks } from '../offline/map-case.ts'
import { contains, same, show } from '../offline/compare.ts'
import type { SyncCase } from '../offline/sync-case.ts'
import { playSyncCase } from '../offline/sync-case.ts'
import type { SyncManifest } from '../offline/sync-rendering.ts'
import type { OfflineSyncHooks } from './offline-hooks.ts'
import { offlineHooks, offlineSyncHooks, withHookAt } from './offline-hooks.ts'
import { syncDisagreements } from './sync-case-comparison.ts'

interface CaseFile {
  readonly resources?: readonly CaseResource[]
  readonly cases: readonly (MapCase | SyncCase)[]
}

interface Options {
  readonly hook: string | undefined
  readonly resolve: readonly string[]
}

const caseFiles = 'a case file is JSON with the list cases (capabilities/metacontroller/README.md, "Test hooks")'

/** Runs every case of a file or folder; exit code 1 when one fails. */
export async function run(context: CommandContext<Options, { readonly path: string }>): Promise<number> {
  const { hook, resolve } = context.options
  const addresses = hostAddresses(resolve)
  let passed = 0
  let failed = 0
  for (const file of filesOf(context.arguments.path)) {
    const { cases, resources = [] } = readCaseFile(file)
    for (const entry of cases) {
      const wrong = await disagreements(entry, {
        hook,
        definitions: resources.map(definitionOf),
        addresses,
        signal: context.signal,
      })
      if (wrong.length === 0) passed++
      else failed++
      if (wrong.length > 0)
        context.out(
          [`FAILED  ${file}: ${entry.id}  ${entry.title ?? ''}`, ...wrong.map((line) => `  ${line}`)].join('\n'),
        )
    }
  }
  context.out(testSummary({ passed, failed }, context.arguments.path, caseFiles))
  return failed === 0 ? 0 : 1
}

/** Settings of all cases of a file. */
interface Setting {
  readonly hook: string | undefined
  readonly definitions: readonly KubeObject[]
  readonly addresses: ReadonlyMap<string, string>
  readonly signal: AbortSignal
}

async function disagreements(entry: MapCase | SyncCase, setting: Setting): Promise<readonly string[]> {
  const { hook, definitions, addresses, signal } = setting
  try {
    if (isSyncCase(entry)) {
      const hooksFor = (controller: SyncManifest): OfflineSyncHooks => offlineSyncHooks(controller, addresses, hook)
      return syncDisagreements(entry, await playSyncCase(entry, { definitions, hooksFor, signal }))
    }
    const outcome = await playCase(withHook(entry, hook), {
      definitions,
      hooksFor: (controller) => offlineHooks(controller, addresses),
      signal,
    })
    return Object.entries(entry.want).flatMap(([key, wanted]) => compare(key, wanted, outcome))
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

function isSyncCase(entry: MapCase | SyncCase): entry is SyncCase {
  const { controller } = entry.input
  return (
    'kind' in controller && (controller.kind === 'CompositeController' || controller.kind === 'DecoratorController')
  )
}

/**
 * Compares one key of `want`. Keys that need a server (its events, requeues and stored bytes) are compared as far as a
 * plan says.
 */
function compare(key: string, wanted: unknown, outcome: CaseOutcome): string[] {
  switch (key) {
    case 'mapCalled':
    case 'tombstoneCalled':
      return same(key, (wanted as readonly string[]).toSorted(), [...outcome[key]].toSorted())
    case 'mapCalls':
      return same(key, wanted, outcome.mapCalls)
    case 'mapFirstRequest':
    case 'tombstoneFirstRequest':
      return compareRequests(key, wanted as Record<string, WantedRequest>, outcome)
    case 'writes':
      return compareWrites(wanted as readonly WantedWrite[], outcome)
    case 'status':
      return contains('status', wanted, outcome.status)
    case 'events':
      return compareWarnings(wanted as readonly { readonly type?: string }[], outcome)
    case 'unchanged':
      return same(
        key,
        [],
        outcome.writes.map(({ ref }) => ref).filter((ref) => (wanted as readonly string[]).includes(ref)),
      )
    case 'writesInOrder':
    case 'requeue':
      return []
    default:
      return [`want.${key} is unknown`]
  }
}

function compareRequests(
  key: string,
  wanted: Readonly<Record<string, WantedRequest>>,
  { requests }: CaseOutcome,
): string[] {
  const came = requests[key === 'mapFirstRequest' ? 'map' : 'tombstone']
  return Object.entries(wanted).flatMap(([ref, { outputs, absent = [] }]) => {
    const request = came[ref]
    if (request === undefined) return [`${key}.${ref}: there was no request`]
    const keys = Object.fromEntries(
      Object.entries(request.outputs as object).map(([kind, objects]) => [
        kind,
        Object.keys(objects as object).toSorted(),
      ]),
    )
    const sorted =
      outputs && Object.fromEntries(Object.entries(outputs).map(([kind, names]) => [kind, names.toSorted()]))
    return [
      ...(sorted === undefined ? [] : same(`${key}.${ref}.outputs`, sorted, keys)),
      ...same(
        `${key}.${ref}.absent`,
        [],
        absent.filter((field) => field in request),
      ),
    ]
  })
}

function compareWrites(wanted: readonly WantedWrite[], { writes }: CaseOutcome): string[] {
  const left = [...writes]
  for (const write of wanted) {
    const at = left.findIndex((other) => isSuch(write, other))
    if (at < 0)
      return [
        `writes: wanted ${show(write)}, got ${show(writes.map(({ op, ref, object }) => ({ op, ref, spec: object.spec })))}`,
      ]
    left.splice(at, 1)
  }
  return left.length === 0 ? [] : [`writes: ${left.map(({ op, ref }) => `${op} ${ref}`).join(', ')} was not wanted`]
}

function isSuch(wanted: WantedWrite, { op, ref, object, uid }: CaseOutcome['writes'][number]): boolean {
  if (wanted.op !== op || wanted.ref !== ref) return false
  if (wanted.preconditionUid !== undefined && wanted.preconditionUid !== uid) return false
  if (wanted.controllerRef === 'parent' && controllerUid(object) === undefined) return false
  if (typeof wanted.taggedFor === 'string' && inputOf(object) !== wanted.taggedFor) return false
  return !('resultSpec' in wanted) || isDeepStrictEqual(wanted.resultSpec, object.spec)
}

/** Returns the input of an output, without the group of its kind. */
function inputOf(object: KubeObject): string | undefined {
  return object.metadata.annotations?.[inputAnnotation]?.replace(/^([^./]+)\.[^/]*\//, '$1/')
}

function compareWarnings(wanted: readonly { readonly type?: string }[], { warnings }: CaseOutcome): string[] {
  if (wanted.length === 0) return same('events', [], warnings)
  return wanted.some(({ type }) => type === 'Warning') && warnings.length === 0
    ? ['events: wanted a Warning, got none']
    : []
}

function withHook(entry: MapCase, base: string | undefined): MapCase {
  if (base === undefined || hasNamedHooks(entry.input.controller.spec)) return entry
  const { name, spec } = entry.input.controller
  const { spec: moved } = withHookAt(
    { apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'MapController', metadata: { name }, spec } as Parameters<
      typeof withHookAt
    >[0],
    base,
  )
  return { ...entry, input: { ...entry.input, controller: { name, spec: moved } } }
}

/** Returns the case files of a folder, recursively, or the one file. */
function filesOf(path: string): readonly string[] {
  return manifestFiles(path).filter((file) => file === path || file.endsWith('.json'))
}

function readCaseFile(file: string): CaseFile {
  const [document] = readDocuments(file)
  const content = document?.value
  if (!isJsonObject(content) || !isJsonArray(content['cases'] ?? null))
    throw new CommandError(`${file}: a case file must have the list cases`)
  return content as unknown as CaseFile
}
