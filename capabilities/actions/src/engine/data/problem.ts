// Problems of mappings, maps and actions, as values: the mistake of one author never disables the actions of another.

/**
 * Stable codes:
 * - `InvalidMapping`: a KindActionMapping cannot be used at all (its precedence).
 * - `InvalidRule`: a rule lacks a field, or a field has a wrong type.
 * - `UnknownVariable`: `mapname` names a variable that does not exist.
 * - `NoValue`: a variable of `mapname` has no value for this resource.
 * - `InvalidMapName`: the result of `mapname` is not a valid ConfigMap name.
 * - `InvalidJson`: a data key cannot be parsed.
 * - `LenientJson`: a data key is used although it is not strict JSON.
 * - `InvalidMap`: a data key has a wrong type or shape.
 * - `InvalidAction`: an action of a map cannot be used.
 * - `UnknownField`: a field that nothing reads, and whose name is nearly that of another.
 * - `UnknownReference`: a pattern names a part that its map lacks; another map of the resource may define it.
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
  | 'UnknownField'
  | 'UnknownReference'
  | 'MapTooLarge'

/** A problem of one field. */
export interface Problem {
  readonly code: ProblemCode
  /** Path of the field in its object: `spec.mappings[2].mapname`, `data.url-actions[0]`. */
  readonly field: string
  /** The mistake, and what to write instead. */
  readonly message: string
}
