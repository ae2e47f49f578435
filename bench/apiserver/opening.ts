// The time that a store of many objects takes to open: a process that starts on a large data folder.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlite } from '@fairlead/apiserver'
import { configMap } from './objects.ts'
import type { Figure } from '../figure.ts'

const count = 100_000
const batch = 1000
const runs = 3

/** Measures the opening of a folder with 100,000 ConfigMaps of 1 kB; the median of three. */
export async function opening(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
  try {
    {
      await using store = await sqlite(folder).open()
      for (let start = 0; start < count; start += batch)
        await store.writeAll(
          Array.from({ length: batch }, (_, index) => {
            const name = `c${start + index}`
            return { resource: 'configmaps.', key: `default/${name}`, expected: 0, object: configMap(name) as never }
          }),
        )
    }
    const times: number[] = []
    for (let run = 0; run < runs; run++) {
      const begin = performance.now()
      await using store = await sqlite(folder).open()
      times.push(performance.now() - begin)
      if (store.count('configmaps.') !== count) throw new Error('Objects are missing.')
    }
    const [least, median, most] = times.toSorted((a, b) => a - b).map((time) => `${(time / 1000).toFixed(1)} s`)
    return [
      {
        figure: 'opening a store of 100,000 objects of 1 kB',
        asked: '-',
        reached: `${median} (${least} to ${most})`,
        holds: undefined,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
