// The error of settings that a capability refuses.

/** A setting of a capability is unknown, or has no valid value. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
  readonly code = 'InvalidSetting'
}
