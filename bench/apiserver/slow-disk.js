// Preloaded into the measured server: every commit of its journal takes FSYNC_MS longer, as on a slow disk. The journal
// lives in a worker.
import { DatabaseSync } from 'node:sqlite'
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) {
  const { exec } = DatabaseSync.prototype
  const never = new Int32Array(new SharedArrayBuffer(4))
  DatabaseSync.prototype.exec = function slowExec(sql) {
    exec.call(this, sql)
    if (sql === 'commit') Atomics.wait(never, 0, 0, Number(process.env.FSYNC_MS ?? 20))
  }
}
