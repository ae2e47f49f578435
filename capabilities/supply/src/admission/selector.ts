// Validation of selectors (originals/cartographer.md §1.4): valid label selectors, and fields that an owner can have.
import { SelectorError, selectorFrom } from '@fairlead/kube'
import type { FieldError } from '@fairlead/kube'
import type { FieldRequirement, OwnerKind, OwnerSelector } from '../api.ts'
import { ownerPath } from '../engine/blueprints/selection.ts'
import { pathProblem } from '../engine/values/path.ts'
import { invalid } from './field-errors.ts'

const sourcePaths = [
  '',
  '.git',
  '.git.url',
  '.git.ref',
  '.git.ref.branch',
  '.git.ref.tag',
  '.git.ref.commit',
  '.image',
  '.subPath',
].map((rest) => `spec.source${rest}`)

const fields: Readonly<Record<OwnerKind, { readonly exact: readonly string[]; readonly within: readonly string[] }>> = {
  Workload: {
    exact: [...sourcePaths, 'spec.build', 'spec.image', 'spec.serviceAccountName'],
    within: ['spec.params', 'spec.build.env', 'spec.env', 'spec.resources', 'spec.serviceClaims', 'metadata'],
  },
  Deliverable: { exact: [...sourcePaths, 'spec.serviceAccountName'], within: ['spec.params', 'metadata'] },
}

/** Returns the errors of a selector at `field`. */
export function checkSelector(
  selector: OwnerSelector,
  owner: OwnerKind,
  field: string,
  names: SelectorFields,
): FieldError[] {
  const { matchLabels, matchExpressions, matchFields = [] } = selector
  const found = matchFields.flatMap((one, index) => checkField(one, owner, `${field}.${names.fields}[${index}]`))
  try {
    selectorFrom({ matchLabels, matchExpressions })
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error
    found.unshift(invalid(`${field}.${names.labels}`, error.message))
  }
  return found
}

/** The field names of the parts of a selector, which differ between blueprints and options. */
export interface SelectorFields {
  readonly labels: string
  readonly fields: string
}

/** Reports whether a selector has no requirement. */
export function isEmptySelector({ matchLabels = {}, matchExpressions = [], matchFields = [] }: OwnerSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0 && matchFields.length === 0
}

/**
 * Returns an error message when an operator other than In and NotIn has values, or one of them has none; undefined
 * otherwise.
 */
export function valuesProblem({ operator, values = [] }: FieldRequirement): string | undefined {
  const needsValues = operator === 'In' || operator === 'NotIn'
  if (needsValues && values.length === 0) return `operator ${operator} needs values`
  return !needsValues && values.length > 0 ? `operator ${operator} takes no values` : undefined
}

function checkField(requirement: FieldRequirement, owner: OwnerKind, field: string): FieldError[] {
  const { key } = requirement
  const { exact, within } = fields[owner]
  const own = ownerPath(key)
  const isKnown =
    exact.includes(own) ||
    within.some((path) => own === path || own.startsWith(`${path}.`) || own.startsWith(`${path}[`))
  const unknown = isKnown
    ? undefined
    : `requirement key [${key}] is not a valid path of a ${owner}; it begins with one of ${[...exact, ...within].join(', ')}`
  const problems: [string, string | undefined][] = [
    ['key', unknown ?? pathProblem(key)],
    ['values', valuesProblem(requirement)],
  ]
  return problems.flatMap(([name, problem]) => (problem === undefined ? [] : [invalid(`${field}.${name}`, problem)]))
}
