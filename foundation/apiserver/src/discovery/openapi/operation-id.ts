// Operation ids and tags as Kubernetes derives them from a path and a verb: `listAppsV1NamespacedDeployment`, `apps_v1`.

/** An operation's place: the verb that its id begins with, and what follows. */
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

/** Letters, digits and underscores of a text; whatever else stands between them makes the next letter a capital. */
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
