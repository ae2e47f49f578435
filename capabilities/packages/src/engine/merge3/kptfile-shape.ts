// Shape of a Kptfile: functions, readiness gates and conditions merge by key. Its name and namespace are the local
// package's own, and so is the upstream of the package that is updated.
import type { JsonValue } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import type { Shape } from './shape.ts'
import { byKeys } from './shape.ts'

const local: Shape = { isLocal: true }
const gates: Shape = { list: { type: 'map', keyOf: byKeys(['conditionType']) } }
const conditions: Shape = { list: { type: 'map', keyOf: byKeys(['type']) } }

/** Returns the shape of a Kptfile: of the package that is updated, or of one below it. */
export function kptfileShape(isRoot: boolean): Shape {
  const fields: Readonly<Record<string, Shape>> = {
    metadata: { field: (name) => (name === 'labels' || name === 'annotations' ? undefined : local) },
    info: { field: (name) => (name === 'readinessGates' ? gates : undefined) },
    pipeline: { field: () => ({ list: { type: 'map', keyOf: functionKey } }) },
    // What the last render of the local package did.
    status: { field: (name) => (name === 'conditions' ? conditions : name === 'renderStatus' ? local : undefined) },
    ...(isRoot ? { upstream: local, upstreamLock: local } : {}),
  }
  return { field: (name) => (Object.hasOwn(fields, name) ? fields[name] : undefined) }
}

/** A function with a name is matched by it, any other by its image without registry tag, or its program. */
function functionKey(element: JsonValue): string | undefined {
  if (!isJsonObject(element)) return undefined
  const { exec, image, name } = element
  if (typeof name === 'string' && name !== '') return `name=${name}`
  if (typeof image === 'string') return `image=${imageWithoutTag(image)}`
  return typeof exec === 'string' ? `exec=${exec}` : undefined
}

/** Returns an image without tag and digest; the colon of a registry's port is none. */
function imageWithoutTag(image: string): string {
  const name = image.replace(/@.*$/, '')
  const colon = name.lastIndexOf(':')
  return colon > name.lastIndexOf('/') ? name.slice(0, colon) : name
}
