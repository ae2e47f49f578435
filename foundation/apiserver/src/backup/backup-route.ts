// `/fairlead/backup`: GET streams a backup of all objects, POST restores one. For administrators only: a backup
// contains every Secret.
import { badRequest, failure, forbidden, methodNotAllowed } from '@fairlead/kube'
import type { Clock, JsonObject, UserInfo } from '@fairlead/kube'
import type { Authorizer } from '../identity/authorizer.ts'
import type { Route } from '../http/route.ts'
import type { ServerRequest, ServerResponse } from '../http/message.ts'
import { booleanParameter } from '../request/query.ts'
import { uncached } from '../response/response.ts'
import { StoreError } from '../storage/store.ts'
import type { Store } from '../storage/store.ts'
import { BackupError } from './backup-error.ts'
import { readBackup, writeBackup } from './backup-file.ts'
import type { Backup } from './backup-file.ts'
import { prepareRestore, RestoreRefused } from './restore.ts'
import type { Restore } from './restore.ts'

/** The path of the route. */
export const backupPath = '/fairlead/backup'

/** The dependencies of the route. */
export interface BackupParts {
  readonly store: Store
  readonly clock: Clock
  readonly authorizer: Authorizer
  /** The server version in the header of backups. */
  readonly server: string
  /** Called after the commit of a restore, before the response ends: recreates the objects that this server needs. */
  readonly restored: () => Promise<void>
}

/** Returns the route. */
export function backupRoute(parts: BackupParts): Route {
  return {
    rootPaths: () => [backupPath],
    bodyLimit: (path) => (path === backupPath ? 'stream' : undefined),
    handle: async (request, segments, user) => {
      if (`/${segments.join('/')}` !== backupPath) return undefined
      requireAdministrator(parts.authorizer, user)
      switch (request.method) {
        case 'GET':
          return answerBackup(parts)
        case 'POST':
          return answerRestore(parts, request)
        default:
          throw methodNotAllowed()
      }
    },
  }
}

/** Checks that the user has all permissions: access to the path alone is not enough. @throws StatusError 403 */
function requireAdministrator(authorizer: Authorizer, user: UserInfo): void {
  const { allowed } = authorizer.authorize({ user, verb: '*', group: '*', resource: '*' })
  if (!allowed) throw forbidden({ group: '', plural: 'backups' }, '', `User "${user.name}" is not an administrator`)
}

function answerBackup({ store, clock, server }: BackupParts): ServerResponse {
  return {
    status: 200,
    headers: { ...uncached, 'content-type': 'application/gzip', 'x-content-type-options': 'nosniff' },
    body: { kind: 'stream', chunks: writeBackup(store, { now: clock.now(), server }) },
  }
}

/** Responds with JSON lines: `{"plan": counts}` before any change, then `{"restored": {…}}` or `{"failed": reason}`. */
async function answerRestore(parts: BackupParts, request: ServerRequest): Promise<ServerResponse> {
  const force = booleanParameter(request.query, 'force') ?? false
  const dryRun = booleanParameter(request.query, 'dryRun') ?? false
  const backup = await received(request)
  const restore = await prepared(parts.store, backup, force)
  return {
    status: 200,
    headers: { ...uncached, 'content-type': 'application/x-ndjson', 'x-content-type-options': 'nosniff' },
    body: { kind: 'stream', chunks: dryRun ? planOnly(restore) : progress(parts, restore, backup) },
  }
}

async function received({ body, stream }: ServerRequest): Promise<Backup> {
  const bytes = stream ?? (body instanceof Uint8Array ? once(body) : undefined)
  if (bytes === undefined) throw badRequest('the body should be a backup')
  try {
    return await readBackup(bytes)
  } catch (error) {
    if (error instanceof BackupError) throw failure(400, 'BadRequest', error.message)
    throw error
  }
}

async function prepared(store: Store, backup: Backup, force: boolean): Promise<Restore> {
  try {
    return await prepareRestore(store, backup, { force })
  } catch (error) {
    if (error instanceof RestoreRefused) throw failure(409, 'Conflict', error.message)
    throw error
  }
}

async function* planOnly({ plan }: Restore): AsyncGenerator<Uint8Array> {
  yield line({ plan: { ...plan.counts } })
}

async function* progress(
  { store, restored }: BackupParts,
  restore: Restore,
  backup: Backup,
): AsyncGenerator<Uint8Array> {
  yield line({ plan: { ...restore.plan.counts } })
  try {
    await restore.run()
    await restored()
  } catch (error) {
    yield line({ failed: reasonOf(error) })
    return
  }
  yield line({ restored: { objects: backup.entries.length, revision: store.revision } })
}

function reasonOf(error: unknown): string {
  if (error instanceof StoreError && error.code === 'Conflict')
    return `The server was written to meanwhile, and nothing was restored: ${error.message} Try again.`
  return error instanceof Error ? error.message : String(error)
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function line(value: JsonObject): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value)}\n`)
}
