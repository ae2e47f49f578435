// An error of the spec of a controller.

/**
 * The spec cannot be carried out. The message names the field and the way out.
 * - `InvalidHook`: there is no hook to call.
 * - `InvalidNamespaces`: `spec.namespaces` of a controller with cluster-scoped parents.
 * - `NoStatusSubresource`: the kind of the parents has no status subresource.
 * - `UnsupportedUpdateStrategy`: an update method that this kind of controller does not have.
 */
export class SpecError extends Error {
  override readonly name = 'SpecError'
  readonly code: 'InvalidHook' | 'InvalidNamespaces' | 'NoStatusSubresource' | 'UnsupportedUpdateStrategy'

  constructor(code: SpecError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Throws SpecError where a controller with cluster-scoped parents is limited to namespaces. */
export function checkNamespaces(
  { namespaces }: { readonly namespaces?: readonly string[] },
  parents: readonly { readonly namespaced: boolean; readonly plural: string }[],
): void {
  const wrong = namespaces === undefined ? undefined : parents.find(({ namespaced }) => !namespaced)
  if (wrong !== undefined)
    throw new SpecError(
      'InvalidNamespaces',
      `spec.namespaces is for namespaced parents; ${wrong.plural} are cluster-scoped`,
    )
}
