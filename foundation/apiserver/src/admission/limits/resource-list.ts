// Lists of amounts by resource (`cpu`, `requests.storage`): the arithmetic of LimitRanges and ResourceQuotas
// (k8s.io/apiserver/pkg/quota/v1, v1.35).
import { addQuantities, compareQuantities, formatQuantity, parseQuantity } from '@fairlead/kube'
import type { Quantity } from '@fairlead/kube'

/** Amounts by resource. */
export type ResourceList = ReadonlyMap<string, Quantity>

/** Amounts as objects have them. */
export type ResourceStrings = Readonly<Record<string, string>>

const one = parseQuantity('1')

/** Returns the amounts of a field; none when it is absent. */
export function resourceList(amounts: ResourceStrings | null | undefined): Map<string, Quantity> {
  return new Map(Object.entries(amounts ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]))
}

/** Returns the amounts as fields of an object, sorted by name. */
export function resourceStrings(list: ResourceList): Record<string, string> {
  return Object.fromEntries([...list].toSorted(byName).map(([name, amount]) => [name, formatQuantity(amount)]))
}

/** Returns a number of objects. */
export function count(number: number): Quantity {
  return number === 1 ? one : parseQuantity(String(number))
}

/** Adds the amounts of `added` to `list`, in place. */
export function addTo(list: Map<string, Quantity>, added: ResourceList): void {
  for (const [name, amount] of added) {
    const known = list.get(name)
    list.set(name, known === undefined ? amount : addQuantities(known, amount))
  }
}

/** Raises the amounts of `list` to those of `other`, in place. */
export function raiseTo(list: Map<string, Quantity>, other: ResourceList): void {
  for (const [name, amount] of other) {
    const known = list.get(name)
    if (known === undefined || compareQuantities(amount, known) > 0) list.set(name, amount)
  }
}

/** Returns the sum. */
export function sumOf(a: ResourceList, b: ResourceList): Map<string, Quantity> {
  const sum = new Map(a)
  addTo(sum, b)
  return sum
}

/** Returns the amounts of the named resources. */
export function pick(list: ResourceList, names: ReadonlySet<string>): Map<string, Quantity> {
  return new Map([...list].filter(([name]) => names.has(name)))
}

/** Returns true when both have the same resources with equal amounts. */
export function isSameList(a: ResourceList, b: ResourceList): boolean {
  return a.size === b.size && [...a].every(([name, { nanos }]) => b.get(name)?.nanos === nanos)
}

/** Returns the amounts as an error message lists them: `cpu=1,pods=2`. */
export function listText(list: ResourceList): string {
  return [...list]
    .toSorted(byName)
    .map(([name, amount]) => `${name}=${formatQuantity(amount)}`)
    .join(',')
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
