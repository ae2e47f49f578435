// PackageVariantSets of v1alpha1 and their form in v1alpha2.
import type { KubeObject } from '@fairlead/kube'
import { PackageVariantSetKind, apiGroup } from '../api.ts'
import type { PackageVariantSetSpec } from '../api.ts'

type Target = PackageVariantSetSpec['targets'][number]
type Template = NonNullable<Target['template']>
type Selector = NonNullable<Target['repositorySelector']>

/** A literal value, or the value of a field of the target. */
interface Value {
  readonly value?: string
  readonly fromField?: string
}

interface FormerTarget {
  readonly package?: { readonly repo?: string; readonly name?: string }
  readonly repositories?: Selector
  readonly objects?: {
    readonly selectors?: readonly {
      readonly apiVersion?: string
      readonly kind?: string
      readonly name?: string
      readonly namespace?: string
      readonly labelSelector?: Selector
      readonly annotations?: Readonly<Record<string, string>>
    }[]
    readonly repoName?: Value
  }
  readonly packageName?: { readonly baseName?: Value; readonly namePrefix?: Value; readonly nameSuffix?: Value }
}

interface FormerSpec {
  readonly upstream?: {
    readonly package?: { readonly repo?: string; readonly name?: string }
    readonly revision?: number | string
    readonly ref?: string
  }
  readonly targets?: readonly FormerTarget[]
  readonly adoptionPolicy?: 'adoptNone' | 'adoptExisting'
  readonly deletionPolicy?: 'delete' | 'orphan'
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** A set that has no form in v1alpha2: each problem names a field. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError'
  readonly code = 'NotConvertible'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('; '))
    this.problems = problems
  }
}

/** Reports whether an object is a set of v1alpha1. */
export function isFormerSet({ apiVersion, kind }: KubeObject): boolean {
  return apiVersion === `${apiGroup}/v1alpha1` && kind === PackageVariantSetKind.kind
}

/** Returns the form of a set in v1alpha2. Throws {@link ConversionError}. */
export function convertedSet(set: KubeObject): KubeObject {
  const conversion = new Conversion(set)
  const spec = conversion.spec((set['spec'] ?? {}) as FormerSpec)
  if (conversion.problems.length > 0) throw new ConversionError(conversion.problems)
  const { status: _status, ...rest } = set as KubeObject & { readonly status?: unknown }
  return { ...rest, apiVersion: PackageVariantSetKind.apiVersion, spec } as KubeObject
}

/** `metadata.labels.env`, `metadata.labels['env']`. */
const mapEntry = /^\.?metadata\.(labels|annotations)(?:\.([\w-]+)|\[['"]?([^'"\]]+)['"]?\])$/

class Conversion {
  readonly problems: string[] = []
  readonly #namespace: string | undefined

  constructor({ metadata }: KubeObject) {
    this.#namespace = metadata.namespace
  }

  spec({ upstream = {}, targets = [], ...rules }: FormerSpec): PackageVariantSetSpec {
    const { repo = '', name = '' } = upstream.package ?? {}
    if (repo === '' || name === '') this.problems.push('spec.upstream.package.repo and .name must be set')
    const { revision, ref } = upstream
    return {
      upstream: {
        repo,
        package: name,
        ...(revision !== undefined && { revision }),
        ...(revision === undefined && ref !== undefined && referenceOf(ref)),
      },
      targets: targets.flatMap((target, index) => this.#targets(target, `spec.targets[${index}]`, rules, name)),
    }
  }

  #targets(
    target: FormerTarget,
    path: string,
    { adoptionPolicy, deletionPolicy, labels, annotations }: FormerSpec,
    upstreamName: string,
  ): readonly Target[] {
    const downstream = { ...this.#repo(target, path), ...this.#package(target, path, upstreamName) }
    const template: Template = {
      ...(Object.keys(downstream).length > 0 && { downstream }),
      ...(adoptionPolicy !== undefined && { adoptionPolicy }),
      ...(deletionPolicy !== undefined && { deletionPolicy }),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
    }
    const more = Object.keys(template).length === 0 ? {} : { template }
    if (target.package !== undefined) {
      const { repo = '', name } = target.package
      return [{ repositories: [{ name: repo, ...(name !== undefined && { packageNames: [name] }) }], ...more }]
    }
    if (target.repositories !== undefined) return [{ repositorySelector: target.repositories, ...more }]
    const selectors = target.objects?.selectors ?? []
    if (selectors.length === 0) this.problems.push(`${path} has none of package, repositories and objects.selectors`)
    return selectors.map((selector, index) => {
      const at = `${path}.objects.selectors[${index}]`
      const { apiVersion = '', kind = '', name, namespace, labelSelector, annotations: selected } = selector
      if (apiVersion === '' || kind === '') this.problems.push(`${at}: apiVersion and kind must be set`)
      if (namespace !== undefined && namespace !== this.#namespace)
        this.problems.push(`${at}.namespace: objects are only selected in the namespace of the set; leave it out`)
      if (selected !== undefined && Object.keys(selected).length > 0)
        this.problems.push(`${at}.annotations: objects are selected by labels only; add a label to them`)
      return {
        objectSelector: { apiVersion, kind, ...(name !== undefined && { name }), ...labelSelector },
        ...more,
      } as Target
    })
  }

  #repo({ objects }: FormerTarget, path: string): Pick<NonNullable<Template['downstream']>, 'repo' | 'repoExpr'> {
    const { value, fromField } = objects?.repoName ?? {}
    if (fromField === undefined) return value === undefined ? {} : { repo: value }
    const repoExpr = this.#expression(fromField, `${path}.objects.repoName.fromField`)
    return repoExpr === 'target.name' ? {} : { repoExpr }
  }

  #package(
    { packageName, package: pair }: FormerTarget,
    path: string,
    upstreamName: string,
  ): Pick<NonNullable<Template['downstream']>, 'package' | 'packageExpr'> {
    if (packageName === undefined || pair !== undefined) return {}
    const { baseName = { value: upstreamName }, namePrefix, nameSuffix } = packageName
    const parts = [
      [namePrefix, 'namePrefix'],
      [baseName, 'baseName'],
      [nameSuffix, 'nameSuffix'],
    ] as const
    const given = parts.flatMap(([part, field]) => (part === undefined ? [] : [[part, field] as const]))
    if (given.every(([{ fromField }]) => fromField === undefined))
      return { package: given.map(([{ value = '' }]) => value).join('') }
    const terms = given.map(([{ value = '', fromField }, field]) =>
      fromField === undefined
        ? JSON.stringify(value)
        : this.#expression(fromField, `${path}.packageName.${field}.fromField`),
    )
    return { packageExpr: terms.join(' + ') }
  }

  /** Returns the expression of a field of the target; expressions see names, labels and annotations only. */
  #expression(field: string, path: string): string {
    const [, map, dotted, bracketed] = mapEntry.exec(field) ?? []
    if (map !== undefined) return `target.${map}[${JSON.stringify(dotted ?? bracketed)}]`
    const [, name] = /^\.?metadata\.(name|namespace)$/.exec(field) ?? []
    if (name !== undefined) return `target.${name}`
    this.problems.push(`${path}: ${field} cannot be read; expressions see name, namespace, labels and annotations`)
    return '""'
  }
}

/** A git ref of a revision such as v3, or a tag that moves. */
function referenceOf(ref: string): Partial<PackageVariantSetSpec['upstream']> {
  return /^v[1-9]\d*$/.test(ref) ? { revision: ref } : { follow: { tag: ref } }
}
