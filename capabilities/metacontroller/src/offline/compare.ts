// Comparing what a case wants with what was decided: lines that say what differs.
import { inspect, isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '@fairlead/kube'

/** Returns the reference of an object: `Kind/namespace/name`. */
export function formatReference({ kind, metadata: { namespace, name = '' } }: KubeObject): string {
  return [kind, ...(namespace === undefined ? [] : [namespace]), name].join('/')
}

/** Returns a line for every field of `wanted` that `got` has not, or has with another value. */
export function contains(at: string, wanted: unknown, got: unknown): string[] {
  if (typeof wanted !== 'object' || wanted === null || typeof got !== 'object' || got === null)
    return same(at, wanted, got)
  return Object.entries(wanted).flatMap(([key, value]) =>
    contains(`${at}.${key}`, value, (got as Record<string, unknown>)[key]),
  )
}

/** Returns a line when the values differ. */
export function same(at: string, wanted: unknown, got: unknown): string[] {
  return isDeepStrictEqual(wanted, got) ? [] : [`${at}: wanted ${show(wanted)}, got ${show(got)}`]
}

/** Returns a value on one line. */
export function show(value: unknown): string {
  return inspect(value, { depth: null, breakLength: Infinity })
}
