// Menus of many resources in a small form: resources with the same maps share items, each of which it holds once.
import type { Menu, MenuItem } from './menu.ts'

/** Menus whose items are positions in a list that they share. */
export interface SharedMenus<M extends Menu> {
  /** The distinct items of all menus. */
  readonly items: readonly MenuItem[]
  readonly menus: readonly (Omit<M, 'actions'> & {
    /** Positions in `items`. */
    readonly actions: readonly number[]
  })[]
}

/** Returns the small form of menus; each `actions` entry is the position of its item in `items`. */
export function sharedMenus<M extends Menu>(menus: readonly M[]): SharedMenus<M> {
  const items: MenuItem[] = []
  const positions = new Map<MenuItem | string, number>()
  const positionOf = (item: MenuItem): number => {
    // Items with a reason are made for one resource, but many resources have the same one.
    const id = item.reason === undefined ? item : JSON.stringify(item)
    const known = positions.get(id)
    if (known !== undefined) return known
    positions.set(id, items.length)
    return items.push(item) - 1
  }
  return { items, menus: menus.map((menu) => ({ ...menu, actions: menu.actions.map(positionOf) })) }
}
