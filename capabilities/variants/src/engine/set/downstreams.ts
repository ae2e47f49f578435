// The downstreams that a set wants, each with the spec of its variant, and the failures of its targets.
import { dns1123Label } from '@fairlead/kube'
import { candidatesOf } from './candidates.ts'
import type { Candidate, CandidateSources } from './candidates.ts'
import { ExpressionError, Expressions } from './expression.ts'
import type { TemplateVariables } from './expression.ts'
import { downstreamKey } from './spec.ts'
import type { Downstream, FailureReason, Selectable, SetSpec, Target, TargetFailure, VariantSpec } from './spec.ts'
import { downstreamPackage, downstreamRepo, renderTemplate } from './template.ts'
import { formatSpecError, targetErrors } from './validation.ts'

/** A downstream that a target wants. */
export interface WantedDownstream extends Downstream {
  readonly target: number
  readonly object?: string
  readonly spec: VariantSpec
  /** Value of `rollout.order`. */
  readonly rank?: string | number
}

/** Downstreams that the targets of a set want. */
export interface WantedDownstreams {
  readonly wanted: readonly WantedDownstream[]
  readonly failures: readonly TargetFailure[]
  /**
   * Reports whether a downstream may be one that a target wants, although it is not in `wanted`: its target failed
   * before that was known, or after.
   */
  readonly isUndecided: (downstream: Downstream) => boolean
}

/** The upstream of a set. */
export interface SetUpstream {
  /** The revision, for expressions. */
  readonly revision: Selectable
  /** The upstream of variants: that of the set, or the revision that a rollout has taken. */
  readonly reference: VariantSpec['upstream']
}

/** Returns the downstreams that the targets of a set want. */
export function wantedDownstreams(spec: SetSpec, upstream: SetUpstream, sources: CandidateSources): WantedDownstreams {
  const pass = new Pass(spec, upstream, sources)
  const errors = Map.groupBy(targetErrors(spec.targets), (error) => error.target)
  for (const [index, target] of spec.targets.entries()) {
    const wrong = errors.get(index)
    if (wrong !== undefined) pass.fail({ target: index }, 'Invalid', wrong.map(formatSpecError).join('; '))
    else pass.target(index, target)
  }
  return pass.result()
}

type Place = Omit<TargetFailure, 'reason' | 'message'>

class Pass {
  readonly #spec: SetSpec
  readonly #upstream: SetUpstream
  readonly #sources: CandidateSources
  readonly #repositories: ReadonlyMap<string, Selectable>
  readonly #expressions = new Expressions()
  readonly #wanted: WantedDownstream[] = []
  readonly #failures: TargetFailure[] = []

  constructor(spec: SetSpec, upstream: SetUpstream, sources: CandidateSources) {
    this.#spec = spec
    this.#upstream = upstream
    this.#sources = sources
    this.#repositories = new Map(sources.repositories.map((repository) => [repository.name, repository]))
  }

  target(index: number, target: Target): void {
    const path = `spec.targets[${index}]`
    const found = candidatesOf(target, path, this.#spec.upstream.package, this.#sources)
    if ('invalid' in found) return this.fail({ target: index }, 'Invalid', found.invalid)
    if ('unavailable' in found) return this.fail({ target: index }, 'KindUnavailable', found.unavailable)
    for (const candidate of found.candidates) this.#candidate(index, target, candidate)
  }

  fail(place: Place, reason: FailureReason, message: string): void {
    const { repo, package: path, object } = place
    const what = [
      object !== undefined && object !== repo && `object ${object}`,
      repo !== undefined && `repository ${repo}`,
      path !== undefined && `package ${path}`,
    ].filter((part) => part !== false)
    this.#failures.push({ ...place, reason, message: [what.join(', '), message].filter(Boolean).join(': ') })
  }

  result(): WantedDownstreams {
    const { unique, repeated } = this.#withoutDuplicates()
    for (const { target, repo, package: path, object, others } of repeated) {
      const place = { target, repo, package: path, ...(object !== undefined && { object }) }
      this.fail(place, 'Duplicate', `${others} want the same downstream`)
    }
    const failures = this.#failures.toSorted((a, b) => a.target - b.target)
    return { wanted: unique, failures, isUndecided: undecided(failures) }
  }

  #candidate(index: number, target: Target, candidate: Candidate): void {
    const { object, repoDefault, packageDefault } = candidate
    let place: Place = { target: index, ...(object !== undefined && { object }) }
    const placed = { template: target.template ?? {}, path: `spec.targets[${index}].template` }
    const found = { repoDefault, packageDefault, upstream: this.#upstream.revision, target: candidate.target }
    try {
      const repo = downstreamRepo(placed, found, this.#expressions)
      place = { ...place, repo }
      const repository = this.#repositories.get(repo)
      if (repository === undefined && target.template !== undefined)
        return this.fail(place, 'RepositoryNotFound', `repository "${repo}" could not be loaded: it does not exist`)
      const variables: TemplateVariables = { ...found, ...(repository && { repository }) }
      const path = downstreamPackage(placed, variables, this.#expressions)
      place = { ...place, package: path }
      const invalid = this.#nameError({ repo, package: path })
      if (invalid !== undefined) return this.fail(place, 'Invalid', invalid)
      const reference = { upstream: this.#upstream.reference, downstream: { repo, package: path } }
      const spec = renderTemplate(placed, variables, this.#expressions, reference)
      const { order } = this.#spec.rollout ?? {}
      const rank = order === undefined ? undefined : this.#expressions.rank('spec.rollout.order', order, variables)
      this.#wanted.push({
        target: index,
        repo,
        package: path,
        spec,
        ...(object !== undefined && { object }),
        ...(rank !== undefined && { rank }),
      })
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      this.fail(place, error.code, error.message)
    }
  }

  #nameError({ repo, package: path }: Downstream): string | undefined {
    const { upstream } = this.#spec
    if (repo === upstream.repo && path === upstream.package) return 'the downstream is the upstream itself'
    const [wrong] = dns1123Label(repo)
    if (wrong !== undefined) return `${JSON.stringify(repo)} is not the name of a Repository: ${wrong}`
    const [part] = path.split('/').flatMap((segment) => dns1123Label(segment))
    return part === undefined ? undefined : `${JSON.stringify(path)} is not the path of a package: ${part}`
  }

  /** Splits off downstreams that are wanted twice: all of them are refused. */
  #withoutDuplicates(): {
    readonly unique: readonly WantedDownstream[]
    readonly repeated: readonly (WantedDownstream & { readonly others: string })[]
  } {
    const byKey = Map.groupBy(this.#wanted, downstreamKey)
    const unique = [...byKey.values()].flatMap((same) => (same.length === 1 ? same : []))
    const others = new Map(
      [...byKey].map(([key, same]) => [key, targetNames([...new Set(same.map(({ target }) => target))])] as const),
    )
    const repeated = this.#wanted.flatMap((one) => {
      const key = downstreamKey(one)
      return byKey.get(key)!.length === 1 ? [] : [{ ...one, others: others.get(key)! }]
    })
    return { unique, repeated }
  }
}

/** Targets that a message names; the rest is counted: each of them has the message. */
const namedTargets = 10

function targetNames(targets: readonly number[]): string {
  const names = targets.slice(0, namedTargets).map((target) => `spec.targets[${target}]`)
  const more = targets.length - names.length
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ')
}

/** A failure without a repository concerns every downstream, one without a package all of its repository. */
function undecided(failures: readonly TargetFailure[]): (downstream: Downstream) => boolean {
  const isAny = failures.some(({ repo, package: path }) => repo === undefined && path === undefined)
  const repositories = new Set(failures.flatMap(({ repo, package: path }) => (path === undefined ? (repo ?? []) : [])))
  const packages = new Set(failures.flatMap(({ repo, package: path }) => (repo === undefined ? (path ?? []) : [])))
  const downstreams = new Set(
    failures.flatMap(({ repo, package: path }) =>
      repo === undefined || path === undefined ? [] : downstreamKey({ repo, package: path }),
    ),
  )
  return (downstream) =>
    isAny ||
    repositories.has(downstream.repo) ||
    packages.has(downstream.package) ||
    downstreams.has(downstreamKey(downstream))
}
