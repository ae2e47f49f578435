// `fairlead restore`: reads and checks the file; the server checks it again.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { BackupError, backupPath, prepareRestore, readBackup, RestoreRefused } from '@fairlead/apiserver'
import type { Backup, RestoreCounts, Store } from '@fairlead/apiserver'
import type { HttpsTransport } from '@fairlead/client'
import { AsyncDisposableStack } from '@fairlead/kube'
import { CommandError, usageError } from '@fairlead/offline/command-error'
import { openPlace } from './place.ts'
import { counted } from './progress.ts'
import { refusalOf } from './refusal.ts'

interface Wishes {
  readonly force: boolean
  readonly dryRun: boolean
}

/** A line of the server's response. */
type Progress = { readonly plan: RestoreCounts } | { readonly failed: string } | { readonly restored: object }

/** Restores a backup. Throws CommandError and then has changed nothing. */
export async function restore(file: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  const wishes: Wishes = { force: options['force'] === true, dryRun: options['dryRun'] === true }
  const backup = await read(file)
  const { createdAt, revision, server } = backup.header
  process.stderr.write(
    `${file}: ${backup.entries.length} objects at revision ${revision}, written on ${createdAt} by ${server}\n`,
  )
  await using resources = new AsyncDisposableStack()
  const place = await openPlace(options, true, resources)
  if (place.store !== undefined) await intoStore(place.store, place.name, backup, wishes)
  else await intoServer(place.server, file, wishes)
  process.stdout.write(
    wishes.dryRun
      ? 'Nothing was changed (--dry-run).\n'
      : `Restored ${backup.entries.length} objects into ${place.name}.\n`,
  )
}

async function read(file: string): Promise<Backup> {
  try {
    if (!(await stat(file)).isFile()) throw usageError(`${file} is not a file`)
    return await readBackup(counted(createReadStream(file), 'Reading'))
  } catch (error) {
    if (error instanceof BackupError) throw new CommandError(`${file}: ${error.message}`)
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw usageError(`there is no file ${file}`)
    throw error
  }
}

async function intoStore(store: Store, name: string, backup: Backup, { force, dryRun }: Wishes): Promise<void> {
  try {
    const decided = await prepareRestore(store, backup, { force })
    say(name, decided.plan.counts)
    if (!dryRun) await decided.run()
  } catch (error) {
    if (error instanceof RestoreRefused) throw refused(error.message)
    throw error
  }
}

async function intoServer(server: HttpsTransport, file: string, { force, dryRun }: Wishes): Promise<void> {
  const answer = await server.exchange({
    method: 'POST',
    path: backupPath,
    query: { force, dryRun },
    contentType: 'application/gzip',
    body: counted(createReadStream(file), 'Sending'),
  })
  if (answer.status === 409) throw refused((await refusalOf({ name: server.address }, answer)).message)
  if (answer.status !== 200) throw await refusalOf({ name: server.address }, answer)
  let last: Progress | undefined
  for await (const line of createInterface({ input: Readable.from(answer.body) })) {
    last = JSON.parse(line) as Progress
    if ('plan' in last) say(server.address, last.plan)
    if ('failed' in last) throw new CommandError(last.failed)
  }
  if (last === undefined || (!dryRun && !('restored' in last)))
    throw new CommandError(`${server.address} stopped responding; see its log, and compare with --dry-run --force`)
}

function say(name: string, counts: RestoreCounts): void {
  process.stderr.write(
    `Restoring into ${name}: ${counts.create} objects to create, ${counts.replace} to replace, ${counts.delete} to delete, ${counts.keep} unchanged\n`,
  )
}

function refused(message: string): CommandError {
  return new CommandError(`${message} (fairlead restore --force; --dry-run --force only prints the changes)`)
}
