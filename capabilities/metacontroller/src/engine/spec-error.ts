// An error of the spec of a CompositeController or DecoratorController.

/**
 * The spec cannot be carried out. The message names the field and the way out.
 * - `InvalidHook`: there is no hook to call.
 * - `NoStatusSubresource`: the kind of the parents has no status subresource.
 * - `UnsupportedUpdateStrategy`: an update method that this kind of controller does not have.
 */
export class SpecError extends Error {
  override readonly name = 'SpecError'
  readonly code: 'InvalidHook' | 'NoStatusSubresource' | 'UnsupportedUpdateStrategy'

  constructor(code: SpecError['code'], message: string) {
    super(message)
    this.code = code
  }
}
