// The thread that writes the journal, so that a slow disk does not block readers. Replies to requests in order.
import { parentPort } from 'node:worker_threads'
import { JournalFile, JournalFileError, openError } from './journal-file.ts'
import type { JournalReply, JournalRequest } from './journal-messages.ts'

const port = parentPort!
let file: JournalFile | undefined
let checkpointDue = false

/** SQLITE_FULL: the disk, or the quota of the user, has no space. The transaction was rolled back. */
const sqliteFull = 13

function reply(message: JournalReply): void {
  port.postMessage(message)
}

function handle(request: JournalRequest): void {
  const { id } = request
  switch (request.kind) {
    case 'open': {
      try {
        file = new JournalFile(request.folder, request.startedAt, request.firstRevision)
        if (request.load) for (const rows of file.rows()) reply({ id, kind: 'rows', rows })
        reply({ id, kind: 'opened', revision: file.revision, compactedRevisions: file.compactedRevisions() })
      } catch (error) {
        file?.close()
        file = undefined
        throw openError(error, request.folder)
      }
      break
    }
    case 'commit': {
      file!.commit(request.rows, request.compaction, request.dropAbove)
      reply({ id, kind: 'done' })
      scheduleCheckpoint()
      break
    }
    case 'close': {
      file?.close()
      file = undefined
      reply({ id, kind: 'done' })
      port.close()
      break
    }
  }
}

/** Schedules a checkpoint after the commits that are already queued. */
function scheduleCheckpoint(): void {
  if (checkpointDue) return
  checkpointDue = true
  setImmediate(() => {
    checkpointDue = false
    try {
      file?.checkpoint()
    } catch {
      // The log keeps every record; the next commit reports a disk error.
    }
  })
}

port.on('message', (request: JournalRequest) => {
  try {
    handle(request)
  } catch (error) {
    if ((error as { errcode?: number }).errcode === sqliteFull)
      return reply({ id: request.id, kind: 'failed', code: 'StorageFull', message: 'the disk is full' })
    const message = error instanceof Error ? error.message : String(error)
    const code = error instanceof JournalFileError ? error.code : 'CommitFailed'
    reply({ id: request.id, kind: 'failed', code, message })
  }
})
