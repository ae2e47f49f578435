// A pod's quality of service class, from its own resources or those of its containers.
import type { JsonObject } from '@fairlead/kube'
import { compareQuantities, parseQuantity } from '@fairlead/kube'
import { has, mapAt, objectsAt } from '../fields.ts'

const counted = ['cpu', 'memory']

/** Returns `Guaranteed`, `Burstable` or `BestEffort`. */
export function qualityOfService(spec: JsonObject): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const consumers = has(spec, 'resources')
    ? [spec]
    : [...objectsAt(spec, 'initContainers'), ...objectsAt(spec, 'containers')]
  const containers = consumers.map((consumer) => ({
    requests: amounts(mapAt(consumer, 'resources', 'requests')),
    limits: amounts(mapAt(consumer, 'resources', 'limits')),
  }))
  if (containers.every(({ requests, limits }) => requests.size === 0 && limits.size === 0)) return 'BestEffort'
  const guaranteed = containers.every(({ requests, limits }) =>
    counted.every((name) => {
      const limit = limits.get(name)
      const request = requests.get(name)
      return (
        limit !== undefined &&
        (request === undefined || compareQuantities(parseQuantity(request), parseQuantity(limit)) === 0)
      )
    }),
  )
  return guaranteed ? 'Guaranteed' : 'Burstable'
}

function amounts(list: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const zero = parseQuantity('0')
  return new Map(
    Object.entries(list).filter(
      ([name, amount]) => counted.includes(name) && compareQuantities(parseQuantity(amount), zero) > 0,
    ),
  )
}
