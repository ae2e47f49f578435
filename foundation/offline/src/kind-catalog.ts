// Kinds and plurals without a server: from CustomResourceDefinitions and objects at hand, and from the table of
// Kubernetes' own kinds. Start with KindCatalog.
import { asCustomResourceDefinition, compareVersions, formatApiVersion, parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { builtinKinds } from './builtin-kinds.ts'
import { CommandError } from './command-error.ts'
import { isDefinition } from './crd-schemas.ts'
import { pluralOf } from './plural.ts'
import type { ResourceKind } from './resource-kind.ts'

/** Neither the files nor Kubernetes' own kinds define a kind. The message names the CustomResourceDefinition to add. */
export class UnknownKindError extends CommandError {
  readonly code = 'UnknownKind'

  constructor(message: string) {
    super(message)
    this.name = 'UnknownKindError'
  }
}

/** Finds kinds by resource, by kind and by the names that kubectl accepts. */
export class KindCatalog {
  readonly #byResource = new Map<string, ResourceKind>()
  readonly #byKind = new Map<string, ResourceKind>()
  /** By group and kind: the other versions of a kind say whether it is namespaced. */
  readonly #byGroupKind = new Map<string, ResourceKind>()
  readonly #builtinGroups = new Set<string>()
  readonly #guessed = new Set<ResourceKind>()

  /**
   * Collects the kinds of CustomResourceDefinitions among the objects. An object whose kind nothing defines is taken
   * into account, too: its plural is guessed with {@link pluralOf}.
   */
  constructor(objects: Iterable<KubeObject> = []) {
    for (const builtin of builtinKinds()) {
      this.#builtinGroups.add(builtin.group)
      this.#add(builtin)
    }
    const given = [...objects]
    for (const object of given) for (const defined of kindsOfDefinition(object)) this.#add(defined)
    for (const object of given) this.#addGuess(object)
  }

  /**
   * Returns the kind of a resource such as `deployments` in `apps/v1`.
   * @throws UnknownKindError
   */
  byResource({ apiVersion, resource }: { readonly apiVersion: string; readonly resource: string }): ResourceKind {
    return (
      this.#byResource.get(`${apiVersion}/${resource}`) ?? this.#unknown(`resource ${resource}`, apiVersion, resource)
    )
  }

  /**
   * Returns the kind of an object's apiVersion and kind.
   * @throws UnknownKindError
   */
  byKind({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): ResourceKind {
    return this.#byKind.get(`${apiVersion}/${kind}`) ?? this.#unknown(`kind ${kind}`, apiVersion, pluralOf(kind))
  }

  /**
   * Returns the kind that kubectl finds by a name: `po`, `pods`, `pod`, `Pod`, `deployments.apps`,
   * `deployments.v1.apps`. The core group comes first, then groups by name; within a group the preferred version.
   * @throws UnknownKindError
   */
  byName(name: string): ResourceKind {
    const [first = '', ...rest] = name.toLowerCase().split('.')
    const group = rest.join('.')
    const [version = '', ...groupOfVersion] = rest
    const [found] = [...this.#byKind.values()]
      .filter((one) => namesOf(one).includes(first))
      .filter(
        (one) =>
          rest.length === 0 ||
          one.group === group ||
          (one.version === version && one.group === groupOfVersion.join('.')),
      )
      .toSorted(comparePreference)
    if (found !== undefined) return found
    throw new UnknownKindError(
      `There is no resource ${name} among Kubernetes' own kinds and the CustomResourceDefinitions given; add its CustomResourceDefinition to the files`,
    )
  }

  /** Reports whether nothing says if a kind is namespaced, which is assumed: an object without a namespace has it. */
  isScopeGuessed({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): boolean {
    return this.#guessed.has(this.#byKind.get(`${apiVersion}/${kind}`)!)
  }

  #add(kind: ResourceKind): void {
    this.#byResource.set(`${kind.apiVersion}/${kind.plural}`, kind)
    this.#byKind.set(`${kind.apiVersion}/${kind.kind}`, kind)
    this.#byGroupKind.set(`${kind.group}/${kind.kind}`, kind)
  }

  #addGuess({ apiVersion, kind, metadata }: KubeObject): void {
    const { group, version } = parseApiVersion(apiVersion)
    const known = this.#byKind.get(`${apiVersion}/${kind}`)
    const sibling = known ?? this.#byGroupKind.get(`${group}/${kind}`)
    if (known !== undefined || this.#builtinGroups.has(group)) return
    const guess: ResourceKind = {
      apiVersion,
      group,
      version,
      kind,
      plural: sibling?.plural ?? pluralOf(kind),
      singular: sibling?.singular ?? kind.toLowerCase(),
      shortNames: sibling?.shortNames ?? [],
      namespaced: metadata.namespace !== undefined || (sibling?.namespaced ?? true),
    }
    this.#add(guess)
    if (sibling === undefined && metadata.namespace === undefined) this.#guessed.add(guess)
  }

  #unknown(named: string, apiVersion: string, plural: string): never {
    const { group } = parseApiVersion(apiVersion)
    throw new UnknownKindError(
      this.#builtinGroups.has(group)
        ? `Kubernetes has no ${named} in ${apiVersion}; check the spelling and the version`
        : `Nothing defines the ${named} in ${apiVersion}; add its CustomResourceDefinition (${plural}.${group}), or an object of that kind, to the files`,
    )
  }
}

function kindsOfDefinition(object: KubeObject): readonly ResourceKind[] {
  if (!isDefinition(object)) return []
  const { group = '', scope, names, versions } = asCustomResourceDefinition(object).spec
  const { kind, plural } = names
  if (kind === undefined || plural === undefined) return []
  return versions
    .filter(({ served }) => served !== false)
    .map(({ name }) => ({
      apiVersion: formatApiVersion(group, name),
      group,
      version: name,
      kind,
      plural,
      singular: names.singular ?? kind.toLowerCase(),
      shortNames: names.shortNames ?? [],
      namespaced: scope !== 'Cluster',
    }))
}

function namesOf({ kind, plural, singular, shortNames }: ResourceKind): readonly string[] {
  return [plural, singular, kind.toLowerCase(), ...shortNames]
}

function comparePreference(a: ResourceKind, b: ResourceKind): number {
  if (a.group !== b.group) return a.group < b.group ? -1 : 1
  return compareVersions(a.version, b.version)
}
