// Tables for terminals.
import { terminalText } from '@fairlead/offline'

/** Returns a table with aligned columns. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows].map((row) => row.map((cell) => terminalText(cell)))
  const widths = headings.map((_heading, column) => all.reduce((width, row) => Math.max(width, row[column]!.length), 0))
  return all.map((row) => formatRow(row, widths)).join('\n')
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  const last = row.length - 1
  return row
    .map((cell, column) => (column === last ? cell : cell.padEnd(widths[column]! + 3)))
    .join('')
    .trimEnd()
}
