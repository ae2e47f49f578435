// Tables for terminals.

/** Returns a table with aligned columns. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows]
  const widths = headings.map((_heading, column) => Math.max(...all.map((row) => row[column]!.length)))
  return all.map((row) => formatRow(row, widths)).join('\n')
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  const last = row.length - 1
  return row
    .map((cell, column) => (column === last ? cell : cell.padEnd(widths[column]! + 3)))
    .join('')
    .trimEnd()
}
