// Prints progress on standard error when that is a terminal.

const step = 256 * 1024

/** Passes bytes through and prints their number: `Reading 12.5 MiB`. */
export async function* counted(chunks: AsyncIterable<Uint8Array>, verb: string): AsyncGenerator<Uint8Array> {
  let bytes = 0
  let said = -step
  const { isTTY } = process.stderr
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (isTTY && bytes - said >= step) {
        said = bytes
        process.stderr.write(`\r${verb} ${sizeText(bytes)}`)
      }
      yield chunk
    }
  } finally {
    // Clear the line: the result is printed next.
    if (isTTY) process.stderr.write('\r\u001B[2K')
  }
}

/** `532 B`, `12.5 KiB`, `1.2 GiB`. */
export function sizeText(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit++
  }
  return unit === 0 ? `${size} B` : `${size.toFixed(1)} ${units[unit]}`
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
