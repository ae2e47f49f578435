// Executes a restore: in one commit, or not at all.
import type { Entry, Store } from '../storage/store.ts'
import type { Backup } from './backup-file.ts'
import { planRestore } from './restore-plan.ts'
import type { RestorePlan } from './restore-plan.ts'

/** The store contains objects of users that a restore would replace or delete, and `force` was not set. */
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

/** Options of a restore. */
export interface RestoreOptions {
  /** Restores into a store with objects of users, too. */
  readonly force?: boolean
}

/** A planned restore. */
export interface Restore {
  readonly plan: RestorePlan
  /**
   * Executes the plan in one commit. Throws StoreError `Conflict` when the store has changed since, `CommitFailed` when
   * it could not be written.
   */
  run(): Promise<void>
}

/**
 * Plans a restore. Objects keep their uid and creationTimestamp; their resourceVersions are new and above those of the
 * backup.
 * @throws RestoreRefused when the store contains objects of users and `force` is not set
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
