// The order of runs. Times of creation have whole seconds only, so runs carry a number as well.
import type { KubeObject } from '@fairlead/kube'

/** The annotation that numbers the runs of a resource from 1. */
export const runNumberAnnotation = 'carto.run/stamp-number'

/** The number of a run; 0 for one that has none. */
export function runNumber({ metadata }: KubeObject): number {
  const number = Number(metadata.annotations?.[runNumberAnnotation] ?? 0)
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}

/** A number that is larger for newer runs: seconds of creation first, numbers within a second. */
export function runOrder(run: KubeObject): number {
  const seconds = Math.floor((Date.parse(run.metadata.creationTimestamp ?? '') || 0) / 1000)
  return seconds * 1_000_000 + Math.min(runNumber(run), 999_999)
}

/** The run with its number. */
export function withRunNumber(run: KubeObject, number: number): KubeObject {
  const annotations = { ...run.metadata.annotations, [runNumberAnnotation]: String(number) }
  return { ...run, metadata: { ...run.metadata, annotations } }
}
