// The types of a PackageVariantSet, as the engine uses them: the generated ones under shorter names.
import type { KubeObject } from '@fairlead/kube'
import type {
  PackageVariantSetSpec,
  PackageVariantSetSpecTarget,
  PackageVariantSetSpecTargetTemplate,
  PackageVariantSetSpecTargetTemplateLabelExpr,
  PackageVariantSetSpecTargetTemplatePipelineMutator,
  PackageVariantSpec,
} from '../../generated/crds.ts'

/** Spec of a set. */
export type SetSpec = PackageVariantSetSpec

/** One of `spec.targets`. */
export type Target = PackageVariantSetSpecTarget

/** The rules for the variants of a target. */
export type Template = PackageVariantSetSpecTargetTemplate

/** A key and a value, each literal or an expression. */
export type MapExpression = PackageVariantSetSpecTargetTemplateLabelExpr

/** A function of a template. */
export type TemplateFunction = PackageVariantSetSpecTargetTemplatePipelineMutator

/** Spec of a variant as a set states it: what it leaves out gets the default of the kind. */
export type VariantSpec = Pick<PackageVariantSpec, 'upstream' | 'downstream'> &
  Partial<Omit<PackageVariantSpec, 'upstream' | 'downstream' | 'pipeline'>> & {
    readonly pipeline?: Partial<NonNullable<PackageVariantSpec['pipeline']>>
  }

/** A downstream: the identity of a variant within its set. */
export interface Downstream {
  readonly repo: string
  readonly package: string
}

/** Metadata of an object that expressions may read. */
export interface Selectable {
  readonly name: string
  readonly namespace?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/** Returns what expressions may read of an object: its data stays out, a copy of it in an annotation included. */
export function selectable({ metadata }: KubeObject): Selectable {
  const { name = '', namespace, labels = {}, annotations = {} } = metadata
  const { [lastApplied]: _configuration, ...others } = annotations
  return { name, ...(namespace !== undefined && { namespace }), labels, annotations: others }
}

/** Formats a downstream as a key. */
export function downstreamKey({ repo, package: path }: Downstream): string {
  return `${repo}\0${path}`
}

/** A target, or one downstream of it, that gets no current variant. */
export interface TargetFailure {
  /** Index in `spec.targets`. */
  readonly target: number
  readonly repo?: string
  readonly package?: string
  /** Name of the selected object. */
  readonly object?: string
  readonly reason: FailureReason
  readonly message: string
}

/** Reasons of {@link TargetFailure}. */
export type FailureReason =
  | 'Invalid'
  | 'KindUnavailable'
  | 'RepositoryNotFound'
  | 'ExpressionFailed'
  | 'Duplicate'
  | 'Collision'
  | 'WriteFailed'
