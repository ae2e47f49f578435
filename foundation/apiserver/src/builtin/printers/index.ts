// Which printer a built-in kind has.
import type { TablePrinter } from '../../registry/resource.ts'
import { defaultPrinter } from './column.ts'

const printers: Readonly<Record<string, TablePrinter>> = {}

/** The printer of a kind; the default one (name and creation time) for kinds that have none of their own. */
export function printerOf(group: string, version: string, kind: string): TablePrinter {
  return printers[`${group}/${version}/${kind}`] ?? printers[`${group}/${kind}`] ?? defaultPrinter
}
