// Operation ids and tags as Kubernetes derives them from a path and a verb: `listAppsV1NamespacedDeployment`,
// `apps_v1`.

/** The parts of an operation id: the verb and the subject. */
export interface OperationName {
  readonly operationId: string
  readonly tag: string
}

/**
 * Names an operation. `verb` is `list`, `read`, `replace` …; `subject` what it works on (`NamespacedDeploymentStatus`);
 * group '' is the core group.
 */
export function operationName(verb: string, group: string, version: string, subject: string): OperationName {
  const short = (group === '' ? 'core' : group).replace(/\.k8s\.io$/, '')
  return {
    operationId: verb + identifier(short, true) + identifier(version, true) + identifier(subject, true),
    tag: `${identifier(short, false)}_${identifier(version, false)}`,
  }
}

/**
 * Returns the letters, digits and underscores of a string in camel case: other characters capitalize the next letter.
 */
function identifier(text: string, capital: boolean): string {
  let out = ''
  let raise = capital
  for (const character of text) {
    const fits = /[\p{L}_]/u.test(character) || (out !== '' && /\p{Nd}/u.test(character))
    if (fits) out += raise ? character.toUpperCase() : character
    raise = !fits
  }
  return out
}
