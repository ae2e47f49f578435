// Injection points: resources of a package that take their data from an object of the cluster.
import type { JsonObject } from '@fairlead/kube'
import { parseApiVersion } from '@fairlead/kube'
import { isResourceFile, resourcesIn } from '@fairlead/packages'
import type { PackageText } from './package-text.ts'

/** Marks a point: `required` or `optional`. */
export const injectionAnnotation = 'kpt.dev/config-injection'

/** Names the injected object; the second is the seed's spelling. */
export const injectedAnnotations = ['kpt.dev/injected-resource', 'kpt.dev/injected-resource-name'] as const

/** Prefix of the condition types of points. */
export const conditionPrefix = 'config.injection.'

/** An injection point. */
export interface InjectionPoint {
  readonly file: string
  readonly apiVersion: string
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly name: string
  readonly isRequired: boolean
  /** Name of the object that was injected before. */
  readonly injected: string | undefined
}

/** The points of a package, and what is wrong with them. */
export interface InjectionPoints {
  readonly points: readonly InjectionPoint[]
  readonly errors: readonly string[]
}

/** Returns the injection points of a package. @throws PackageError `InvalidYaml` */
export function injectionPoints(files: PackageText): InjectionPoints {
  const points: InjectionPoint[] = []
  const errors: string[] = []
  const places = new Map<string, string>()
  for (const [file, content] of Object.entries(files)) {
    // Most files hold no point, and parsing is what takes time.
    if (!isResourceFile(file) || !content.includes(injectionAnnotation)) continue
    for (const object of resourcesIn(file, content)) {
      const point = pointOf(file, object)
      if (point === undefined) continue
      if (typeof point === 'string') {
        errors.push(point)
        continue
      }
      const type = conditionTypeOf(point)
      const other = places.get(type)
      if (other !== undefined)
        errors.push(
          `${file}: the injection point ${point.kind}/${point.name} is in ${other} as well; points need distinct kinds or names`,
        )
      places.set(type, file)
      points.push(point)
    }
  }
  return { points, errors }
}

/** Returns the condition type of a point. */
export function conditionTypeOf({ kind, name }: Pick<InjectionPoint, 'kind' | 'name'>): string {
  return `${conditionPrefix}${kind}.${name}`
}

/** Reports whether a resource is the one of a point. */
export function isPoint(object: JsonObject, { apiVersion, kind, name }: InjectionPoint): boolean {
  const metadata = (object['metadata'] ?? {}) as JsonObject
  return (
    object['apiVersion'] === apiVersion &&
    object['kind'] === kind &&
    metadata['name'] === name &&
    annotationsOf(object)[injectionAnnotation] !== undefined
  )
}

function annotationsOf(object: JsonObject): JsonObject {
  return ((object['metadata'] as JsonObject | undefined)?.['annotations'] ?? {}) as JsonObject
}

function pointOf(file: string, object: JsonObject): InjectionPoint | string | undefined {
  const annotations = annotationsOf(object)
  const value = annotations[injectionAnnotation]
  if (value === undefined) return undefined
  const { apiVersion, kind } = object
  const name = (object['metadata'] as JsonObject)['name']
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof name !== 'string')
    return `${file}: an injection point needs apiVersion, kind and name`
  if (value !== 'required' && value !== 'optional')
    return `${file}: ${kind}/${name}: the annotation ${injectionAnnotation} is "${String(value)}"; write required or optional`
  const injected = injectedAnnotations.map((key) => annotations[key]).find((one) => typeof one === 'string')
  const { group, version } = parseApiVersion(apiVersion)
  return { file, apiVersion, group, version, kind, name, isRequired: value === 'required', injected }
}
