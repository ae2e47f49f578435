// The error of hooks that respond with something wrong.

/**
 * The response of a hook is invalid and was refused as a whole. The message names the output and the change to make.
 * - `MissingOutputs`: the field `outputs` is missing; an empty list would mean that no output is wanted.
 * - `InvalidResponse`: the response is not a JSON object, or a field has the wrong type.
 * - `UnknownField`: the response has an unknown field, or a field twice, and the hook is strict.
 * - `InvalidOutput`: an output is not an object with apiVersion, kind and name.
 * - `UndeclaredKind`: an output is of a kind that `outputResources` does not list.
 * - `OtherVersion`: an output is in another version of its kind than `outputResources` lists.
 * - `DuplicateOutput`: two outputs have the same kind, namespace and name.
 * - `OutOfScope`: the parent cannot own an output: it is in another namespace, or cluster-scoped with a namespaced
 *   parent.
 */
export class ResponseError extends Error {
  override readonly name = 'ResponseError'
  readonly code:
    | 'MissingOutputs'
    | 'InvalidResponse'
    | 'UnknownField'
    | 'InvalidOutput'
    | 'UndeclaredKind'
    | 'OtherVersion'
    | 'DuplicateOutput'
    | 'OutOfScope'

  constructor(code: ResponseError['code'], message: string) {
    super(message)
    this.code = code
  }
}
