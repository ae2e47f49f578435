// mapcontroller.json: each case on a cluster of its own, with the real controller and real HTTP hooks.
import { controllerOf } from '@fairlead/kube'
import type { HookName, MapCaseWant, WantedRequest, WantedWrite } from '@fairlead/metacontroller'
import { mapKeyLabel } from '@fairlead/metacontroller'
import type { Disagreement } from '../comparison.ts'
import { contains, sameSet, sameValue } from '../comparison.ts'
import type { Suite } from '../suite.ts'
import { mapArea, readMapCase, unknownParts } from './map-case.ts'
import type { CaseResult } from './play.ts'
import { play } from './play.ts'
import type { RecordedWrite } from './recording-transport.ts'

/** The suite. */
export const suite: Suite = {
  areas: { map: mapArea },
  async run(entry, file) {
    const parsed = readMapCase(entry, file)
    const unknown = unknownParts(parsed)
    if (unknown.length > 0) return unknown.map((came) => ({ at: 'case', wanted: 'keys that the README lists', came }))
    return disagreements(parsed.want, await play(parsed))
  },
}

function disagreements(want: MapCaseWant, result: CaseResult): Disagreement[] {
  const called = (hook: HookName): string[] => result.calls.filter((call) => call.hook === hook).map(({ ref }) => ref)
  return [
    ...(want.mapCalled === undefined ? [] : sameSet('mapCalled', want.mapCalled, called('map'))),
    ...(want.tombstoneCalled === undefined
      ? []
      : sameSet('tombstoneCalled', want.tombstoneCalled, called('tombstone'))),
    ...(want.mapCalls === undefined ? [] : sameValue('mapCalls', want.mapCalls, called('map').length)),
    ...firstRequests('map', want.mapFirstRequest, result),
    ...firstRequests('tombstone', want.tombstoneFirstRequest, result),
    ...(want.writes === undefined ? [] : writes(want.writes, want.writesInOrder === true, result)),
    ...(want.unchanged === undefined ? [] : sameValue('unchanged', [], result.changed)),
    ...(want.status === undefined ? [] : contains('status', want.status, result.status)),
    ...(want.events === undefined ? [] : events(want.events, result)),
    ...(want.requeue === undefined ? [] : requeue(want.requeue, result)),
  ]
}

function firstRequests(
  hook: HookName,
  wanted: Readonly<Record<string, WantedRequest>> | undefined,
  result: CaseResult,
): Disagreement[] {
  return Object.entries(wanted ?? {}).flatMap(([ref, { outputs, absent }]) => {
    const at = `${hook}FirstRequest.${ref}`
    const request = result.calls.find((call) => call.hook === hook && call.ref === ref)?.request
    if (request === undefined) return [{ at, wanted: 'a request', came: 'none' }]
    const came = Object.fromEntries(
      Object.entries(request.outputs).map(([kind, objects]) => [kind, Object.keys(objects).toSorted()]),
    )
    const sorted = outputs && Object.fromEntries(Object.entries(outputs).map(([kind, keys]) => [kind, keys.toSorted()]))
    return [
      ...(sorted === undefined ? [] : sameValue(`${at}.outputs`, sorted, came)),
      ...sameValue(
        `${at}.absent`,
        [],
        (absent ?? []).filter((key) => key in request),
      ),
    ]
  })
}

function writes(wanted: readonly WantedWrite[], inOrder: boolean, result: CaseResult): Disagreement[] {
  const came = result.writes.map((write) => summary(write))
  const left = [...result.writes]
  for (const [index, write] of wanted.entries()) {
    const found = inOrder
      ? left[0] !== undefined && isSuch(write, left[0], result)
        ? 0
        : -1
      : left.findIndex((other) => isSuch(write, other, result))
    if (found < 0) return [{ at: `writes[${index}]`, wanted: write, came }]
    left.splice(found, 1)
  }
  return left.length === 0 ? [] : [{ at: 'writes', wanted, came }]
}

function isSuch(wanted: WantedWrite, write: RecordedWrite, result: CaseResult): boolean {
  const { taggedFor, controllerRef, preconditionUid, propagationPolicy } = wanted
  const { metadata } = write.object
  if (wanted.op !== write.op || wanted.ref !== write.ref) return false
  if (
    taggedFor !== undefined &&
    metadata.labels?.[mapKeyLabel] !== (taggedFor === null ? undefined : result.mapKey(taggedFor))
  )
    return false
  if (controllerRef !== undefined) {
    const uid = controllerRef === 'parent' ? result.parentUid : (controllerRef ?? undefined)
    if (controllerOf(write.object)?.uid !== uid) return false
  }
  if (preconditionUid !== undefined && write.preconditionUid !== preconditionUid) return false
  if (propagationPolicy !== undefined && write.propagationPolicy !== propagationPolicy) return false
  return !('resultSpec' in wanted) || sameValue('resultSpec', wanted.resultSpec, write.object.spec).length === 0
}

function summary({ op, ref, object, preconditionUid, propagationPolicy }: RecordedWrite): unknown {
  const { labels } = object.metadata
  return {
    op,
    ref,
    key: labels?.[mapKeyLabel],
    controllerRef: controllerOf(object)?.uid,
    preconditionUid,
    propagationPolicy,
    spec: object.spec,
  }
}

function events(wanted: NonNullable<MapCaseWant['events']>, result: CaseResult): Disagreement[] {
  const came = result.events.map(({ type, reason, note, regarding }) => ({
    type,
    reason,
    note,
    on: (regarding as { uid?: string } | undefined)?.uid,
  }))
  if (wanted.length === 0)
    return sameValue(
      'events',
      [],
      came.filter(({ type }) => type === 'Warning'),
    )
  return wanted.flatMap((event) => {
    const occurs = came.some(
      ({ type, reason, on }) =>
        (event.type === undefined || type === event.type) &&
        (event.reason === undefined || reason === event.reason) &&
        event.on === 'parent' &&
        on === result.parentUid,
    )
    return occurs ? [] : [{ at: 'events', wanted: event, came }]
  })
}

function requeue({ kind, seconds, scope }: NonNullable<MapCaseWant['requeue']>, result: CaseResult): Disagreement[] {
  const isIt = result.failing.some(
    (group) =>
      (scope === undefined || group.ref === scope) &&
      (kind === undefined || group.kind === kind) &&
      (seconds === undefined || group.seconds === seconds),
  )
  return isIt ? [] : [{ at: 'requeue', wanted: { kind, seconds, scope }, came: result.failing }]
}
