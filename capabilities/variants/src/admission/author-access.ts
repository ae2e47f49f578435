// The rights that the writers of variants and sets need. The controller reads and writes packages of the namespace for
// them, and copies objects into packages, so they must be allowed to do so themselves.
import type { RequiredAccess, RequiredKindAccess } from '@fairlead/controller'
import { isDeepStrictEqual } from 'node:util'
import { parseApiVersion } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { porchGroup } from '@fairlead/packages'
import { apiGroup } from '../api.ts'
import type { PackageVariant } from '../api.ts'
import { asksForApproval, policyAnnotation } from '../engine/variant/approval.ts'
import { injectorsOf } from '../engine/variant/spec-errors.ts'

type RequiredRight = RequiredAccess | RequiredKindAccess

interface Injector {
  readonly group?: string
  readonly version?: string
  readonly kind?: string
  readonly name?: string
}

/** A target of a set, as far as rights are concerned. */
interface Target {
  readonly template?: {
    readonly injectors?: readonly Injector[]
    readonly annotations?: Readonly<Record<string, string>>
    readonly annotationExprs?: readonly { readonly key?: string; readonly keyExpr?: string }[]
  }
  readonly objectSelector?: { readonly apiVersion?: string; readonly kind?: string }
}

/** Returns the rights that a write of a PackageVariant requires, for what it changes. */
export function variantAccess(object: KubeObject, old: KubeObject | undefined): readonly RequiredRight[] {
  const { metadata, spec } = object as PackageVariant
  const before = (old as PackageVariant | undefined)?.spec
  if (before !== undefined && isDeepStrictEqual(before, spec)) return []
  const known = new Set(before === undefined ? [] : injectorsOf(before).map(keyOf))
  return [
    ...packageAccess(metadata.namespace, 'a PackageVariant'),
    // Whatever changes in such a variant changes what is approved.
    ...(asksForApproval(spec.annotations) ? [approvalAccess(metadata.namespace, 'spec.annotations')] : []),
    ...injectorsOf(spec)
      .filter((injector) => !known.has(keyOf(injector)))
      .map((injector) => injectorAccess(metadata.namespace, injector, injector.name)),
  ]
}

/** Returns the rights that a write of a PackageVariantSet requires, for what it changes. */
export function setAccess(object: KubeObject, old: KubeObject | undefined): readonly RequiredRight[] {
  const { namespace } = object.metadata
  const spec = object.spec as JsonObject | undefined
  if (old !== undefined && isDeepStrictEqual(old.spec, spec)) return []
  const targets = (spec?.['targets'] ?? []) as readonly Target[]
  const injectors = targets.flatMap(({ template }) => template?.injectors ?? [])
  return [
    {
      verb: 'create',
      group: apiGroup,
      resource: 'packagevariants',
      ...(namespace !== undefined && { namespace }),
      reason: 'a PackageVariantSet makes PackageVariants',
    },
    ...packageAccess(namespace, 'a PackageVariantSet'),
    ...(targets.some(({ template }) => mayAskForApproval(template ?? {}))
      ? [approvalAccess(namespace, 'the template of a target')]
      : []),
    ...targets.flatMap(({ objectSelector }) =>
      objectSelector === undefined ? [] : [selectorAccess(namespace, objectSelector)],
    ),
    // The names may be expressions.
    ...injectors.map((injector) => injectorAccess(namespace, injector, undefined)),
  ]
}

function packageAccess(namespace: string | undefined, what: string): readonly RequiredAccess[] {
  const access = (verb: string, resource: string, reason: string): RequiredAccess => ({
    verb,
    group: porchGroup,
    resource,
    ...(namespace !== undefined && { namespace }),
    reason,
  })
  return [
    access('get', 'packagerevisionresources', `${what} copies the files of its upstream`),
    access('create', 'packagerevisions', `${what} makes revisions of its downstream package`),
    access('update', 'packagerevisionresources', `${what} writes the files of its drafts`),
    access('delete', 'packagerevisions', `${what} deletes drafts that are not wanted any more`),
  ]
}

type Template = Pick<NonNullable<Target['template']>, 'annotations' | 'annotationExprs'>

/** The value of an expression may be any key. */
function mayAskForApproval({ annotations, annotationExprs = [] }: Template): boolean {
  return (
    asksForApproval(annotations) ||
    annotationExprs.some(({ key, keyExpr }) => key === policyAnnotation || keyExpr !== undefined)
  )
}

function approvalAccess(namespace: string | undefined, where: string): RequiredAccess {
  return {
    verb: 'update',
    group: porchGroup,
    resource: 'packagerevisions',
    subresource: 'approval',
    ...(namespace !== undefined && { namespace }),
    reason: `${where} can ask for the approval of drafts (${policyAnnotation})`,
  }
}

function injectorAccess(
  namespace: string | undefined,
  { group, kind }: Injector,
  name: string | undefined,
): RequiredKindAccess {
  // Without a kind, ConfigMaps are what every cluster has; other kinds are granted to the controller one by one.
  const selected = kind ?? 'ConfigMap'
  return {
    verb: 'get',
    group: group ?? '',
    kind: selected,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    reason: `an injector copies ${selected} objects into the package${group === undefined && kind !== undefined ? '; an injector with a kind of another API group needs its group' : ''}`,
  }
}

/** Labels, annotations and names of selected objects end up in variants, which their readers may see. */
function selectorAccess(
  namespace: string | undefined,
  { apiVersion = '', kind = '' }: { readonly apiVersion?: string; readonly kind?: string },
): RequiredKindAccess {
  return {
    verb: 'list',
    group: parseApiVersion(apiVersion).group,
    kind,
    ...(namespace !== undefined && { namespace }),
    reason: `objectSelector reads ${kind} objects`,
  }
}

function keyOf({ group, version, kind, name }: Injector): string {
  return JSON.stringify([group, version, kind, name])
}
