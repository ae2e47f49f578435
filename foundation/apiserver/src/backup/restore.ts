// Carries out a restore: all of it in one commit, or nothing.
import type { Entry, Store } from '../storage/store.ts'
import type { Backup } from './backup-file.ts'
import { planRestore } from './restore-plan.ts'
import type { RestorePlan } from './restore-plan.ts'

/** The store holds objects that a restore would replace or delete, and nobody said that it may. */
export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused'
  readonly code = 'NotEmpty'

  constructor(plan: RestorePlan) {
    const { foreign, counts } = plan
    const named = foreign.slice(0, 3).map(({ resource, key }) => `${resource.replace(/\.$/, '')} ${key}`)
    const more = foreign.length > named.length ? ` and ${foreign.length - named.length} more` : ''
    super(
      `The server is not empty: it holds ${named.join(', ')}${more}. Restoring would create ${counts.create}, replace ${counts.replace} and delete ${counts.delete} objects; force it to do that.`,
    )
  }
}

/** How to restore. */
export interface RestoreOptions {
  /** Also into a store that holds objects of users. */
  readonly force?: boolean
}

/** A restore that has been decided and not been done yet. */
export interface Restore {
  readonly plan: RestorePlan
  /** Does it, in one commit. Throws StoreError `Conflict` when the store has changed since, `CommitFailed` when it could not be written. */
  run(): Promise<void>
}

/**
 * Decides on a restore. Objects keep their uid and creationTimestamp; their resourceVersions are new and above those of the backup.
 * @throws RestoreRefused when the store holds objects of users and force was not given
 */
export async function prepareRestore(store: Store, backup: Backup, options: RestoreOptions = {}): Promise<Restore> {
  const current: Entry[] = []
  for await (const entry of store.snapshot()) current.push(entry)
  const plan = planRestore(current, backup)
  if (plan.foreign.length > 0 && options.force !== true) throw new RestoreRefused(plan)
  return {
    plan,
    run: async () => {
      await store.writeAll(plan.writes, backup.header.revision)
    },
  }
}
