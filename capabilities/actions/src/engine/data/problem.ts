// What is wrong with a mapping, a map or an action, as a value: one author's mistake never stops another's actions.

/**
 * Stable codes:
 * - `InvalidMapping`: a KindActionMapping as a whole cannot be used (its precedence).
 * - `InvalidRule`: one rule lacks something or has a wrong type.
 * - `UnknownVariable`: `mapname` names a variable that does not exist.
 * - `NoValue`: a variable of `mapname` has no value for this resource.
 * - `InvalidMapName`: what comes out of `mapname` is no name of a ConfigMap.
 * - `InvalidJson`: a data key cannot be read at all.
 * - `LenientJson`: a data key is read, but strict JSON would refuse it.
 * - `InvalidMap`: a data key has another form than it should.
 * - `InvalidAction`: one action of a map cannot be used.
 * - `MapTooLarge`: a map is larger than a ConfigMap may be.
 */
export type ProblemCode =
  | 'InvalidMapping'
  | 'InvalidRule'
  | 'UnknownVariable'
  | 'NoValue'
  | 'InvalidMapName'
  | 'InvalidJson'
  | 'LenientJson'
  | 'InvalidMap'
  | 'InvalidAction'
  | 'MapTooLarge'

/** One thing that is wrong. */
export interface Problem {
  readonly code: ProblemCode
  /** Where in its object, as a path: `spec.mappings[2].mapname`, `data.url-actions[0]`. */
  readonly field: string
  /** What is wrong and what to write instead. */
  readonly message: string
}
