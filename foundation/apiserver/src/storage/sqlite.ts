// A durable store: memory in front of a journal in a folder.
import { resolve } from 'node:path'
import { systemClock } from '@fairlead/client'
import type { Storage } from './storage.ts'
import { openStore } from './versioned-store.ts'
import type { StoreOptions } from './versioned-store.ts'
import { WorkerJournal } from './worker-journal.ts'

/**
 * Stores objects in `folder`/objects.sqlite, which is created when missing. An acknowledged write survives `kill -9`
 * and a power cut. One process at a time: `open` throws StoreLocked when the folder is in use, FormatTooNew when a
 * newer version wrote it, OpenFailed when it cannot be read.
 */
export function sqlite(folder: string, options: StoreOptions = {}): Storage {
  const path = resolve(folder)
  return {
    folder: path,
    open: (defaults) => {
      const merged = { ...defaults, ...options }
      return openStore(new WorkerJournal(path, merged.clock ?? systemClock), merged)
    },
  }
}
