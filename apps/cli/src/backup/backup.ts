// `fairlead backup`: writes a partial file, reads it again to verify it, and renames it to the requested name.
import { createReadStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { backupPath, readBackup, serverVersion, writeBackup } from '@fairlead/apiserver'
import { systemClock } from '@fairlead/client'
import { AsyncDisposableStack } from '@fairlead/kube'
import { CommandError, usageError } from '@fairlead/offline/command-error'
import { openPlace } from './place.ts'
import type { Place } from './place.ts'
import { counted, sizeText } from './progress.ts'
import { refusalOf } from './refusal.ts'

/** Writes a backup. Throws CommandError and leaves an existing file unchanged. */
export async function backup(file: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  if (file === '-') throw usageError('a backup is verified before it is complete: name a file in place of -')
  if (existsSync(file) && options['force'] !== true)
    throw usageError(`${file} exists already: name another file, or replace it with --force`)
  await using resources = new AsyncDisposableStack()
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort(new CommandError('interrupted; no backup was written')))
  const place = await openPlace(options, false, resources)
  const partial = `${file}.partial`
  try {
    const bytes = await write(partial, file, counted(await bytesOf(place, stop.signal), 'Backing up'))
    const { header, entries } = await readBackup(createReadStream(partial))
    await rename(partial, file)
    process.stdout.write(
      `Backed up ${entries.length} objects of ${place.name} at revision ${header.revision} to ${file} (${sizeText(bytes)}).\n`,
    )
  } catch (error) {
    await rm(partial, { force: true })
    throw stop.signal.aborted ? stop.signal.reason : error
  }
}

async function bytesOf(place: Place, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  if (place.store !== undefined)
    return writeBackup(place.store, { now: systemClock.now(), server: serverVersion['gitVersion']! })
  const answer = await place.server.exchange({
    method: 'GET',
    path: backupPath,
    accept: 'application/gzip, */*',
    signal,
  })
  if (answer.status !== 200) throw await refusalOf(place, answer)
  return answer.body
}

/** Writes and syncs the file; returns the number of bytes. Errors name the file without `.partial`. */
async function write(partial: string, file: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const refused = (error: unknown): never => {
    throw new CommandError(`${file} cannot be written: ${writeProblem(file, error as NodeJS.ErrnoException)}`)
  }
  await using handle = await open(partial, 'w', 0o600).catch(refused)
  let bytes = 0
  for await (const chunk of chunks) {
    await handle.writeFile(chunk).catch(refused)
    bytes += chunk.length
  }
  await handle.sync().catch(refused)
  return bytes
}

function writeProblem(file: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return `there is no folder ${dirname(file)}`
  return code === 'ENOSPC' ? 'no space is left there' : message
}
