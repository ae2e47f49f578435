// Errors of backups that cannot be restored.

/**
 * Reasons to reject a backup; nothing has been restored:
 * - `NotABackup`: the file is not a backup.
 * - `BackupTooNew`: a newer version wrote it.
 * - `BackupTruncated`: its end is missing.
 * - `BackupDamaged`: it is corrupt.
 */
export type BackupErrorCode = 'NotABackup' | 'BackupTooNew' | 'BackupTruncated' | 'BackupDamaged'

const meanings: Readonly<Record<BackupErrorCode, string>> = {
  NotABackup: 'This is not a backup',
  BackupTooNew: 'This backup was written by a newer Fairlead',
  BackupTruncated: 'This backup is not complete',
  BackupDamaged: 'This backup is damaged',
}

const advice: Readonly<Record<BackupErrorCode, string>> = {
  NotABackup: 'Name a file that `fairlead backup` has written.',
  BackupTooNew: 'Use that version.',
  BackupTruncated: 'Use another copy of it, or another backup.',
  BackupDamaged: 'Use another copy of it, or another backup.',
}

/** A backup that cannot be restored; nothing was changed. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
  readonly code: BackupErrorCode

  constructor(code: BackupErrorCode, detail: string) {
    super(`${meanings[code]}: ${detail}. Nothing was restored. ${advice[code]}`)
    this.code = code
  }
}
