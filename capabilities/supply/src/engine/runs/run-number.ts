// The order of runs. creationTimestamp has a resolution of one second, so each run has a number as well.
import type { KubeObject } from '@fairlead/kube'

/** The annotation with the number of a run, from 1. */
export const runNumberAnnotation = 'carto.run/stamp-number'

/** Returns the number of a run; 0 when it has none. */
export function runNumber({ metadata }: KubeObject): number {
  const number = Number(metadata.annotations?.[runNumberAnnotation] ?? 0)
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}

/** Returns a number that is larger for newer runs: creation time in seconds first, then the number of the run. */
export function runOrder(run: KubeObject): number {
  const seconds = Math.floor((Date.parse(run.metadata.creationTimestamp ?? '') || 0) / 1000)
  return seconds * 1_000_000 + Math.min(runNumber(run), 999_999)
}

/** Returns the run with the annotation. */
export function withRunNumber(run: KubeObject, number: number): KubeObject {
  const annotations = { ...run.metadata.annotations, [runNumberAnnotation]: String(number) }
  return { ...run, metadata: { ...run.metadata, annotations } }
}
