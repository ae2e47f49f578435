// The repositories and packages that a target selects, before its template has its say.
import { SelectorError, selectorFrom } from '@fairlead/kube'
import type { Downstream, Selectable, Target } from './spec.ts'

/** A repository and a package that a target selects. */
export interface Candidate {
  readonly repoDefault: string
  readonly packageDefault: string
  /** The variable `target` of expressions. */
  readonly target: Selectable | Downstream
  /** Name of the selected object. */
  readonly object?: string
}

/** Objects of a kind that a target names; `unavailable` says why they are not known. */
export type SelectedObjects = { readonly objects: readonly Selectable[] } | { readonly unavailable: string }

/** Sources of candidates. */
export interface CandidateSources {
  /** Repositories of the namespace. */
  readonly repositories: readonly Selectable[]
  /** Objects of the namespace. */
  objects(kind: { readonly apiVersion: string; readonly kind: string }): SelectedObjects
}

/** Candidates of a target; `unavailable` or `invalid` says why they are not known. */
export type Candidates =
  | { readonly candidates: readonly Candidate[] }
  | { readonly unavailable: string }
  | { readonly invalid: string }

/** Returns the candidates of a target at `path`. */
export function candidatesOf(
  target: Target,
  path: string,
  upstreamPackage: string,
  sources: CandidateSources,
): Candidates {
  try {
    return selected(target, upstreamPackage, sources)
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error
    const field = target.repositorySelector === undefined ? 'objectSelector' : 'repositorySelector'
    return { invalid: `${path}.${field}: ${error.message}` }
  }
}

function selected(target: Target, upstreamPackage: string, sources: CandidateSources): Candidates {
  const { repositories, repositorySelector, objectSelector } = target
  if (repositories !== undefined) return { candidates: listed(repositories, upstreamPackage) }
  if (repositorySelector !== undefined) {
    const selector = selectorFrom(repositorySelector)
    const packages = target.packageNames ?? [upstreamPackage]
    const matching = inOrder(sources.repositories).filter(({ labels }) => selector.matches(labels))
    return { candidates: matching.flatMap((object) => packages.map((path) => candidate(object, path))) }
  }
  if (objectSelector === undefined) return { candidates: [] }
  const { apiVersion, kind, name, ...labels } = objectSelector
  const selector = selectorFrom(labels)
  const found = sources.objects({ apiVersion, kind })
  if ('unavailable' in found) return found
  const matching = inOrder(found.objects).filter(
    (object) => (name === undefined || object.name === name) && selector.matches(object.labels),
  )
  return { candidates: matching.map((object) => candidate(object, upstreamPackage)) }
}

function listed(repositories: NonNullable<Target['repositories']>, upstreamPackage: string): readonly Candidate[] {
  return repositories.flatMap(({ name, packageNames = [upstreamPackage] }) =>
    packageNames.map((path) => ({
      repoDefault: name,
      packageDefault: path,
      target: { repo: name, package: path },
    })),
  )
}

function candidate(object: Selectable, packageDefault: string): Candidate {
  return { repoDefault: object.name, packageDefault, target: object, object: object.name }
}

function inOrder(objects: readonly Selectable[]): readonly Selectable[] {
  return objects.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
