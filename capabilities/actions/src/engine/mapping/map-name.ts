// `mapname` of a rule: the name of a ConfigMap with variables anywhere in it.
import { dns1123Subdomain } from '@fairlead/kube'
import type { OwnerReference } from '@fairlead/kube'
import type { ProblemCode } from '../data/problem.ts'
import type { Target } from './target.ts'

/** Values of the variables of `mapname`. Kinds and subkinds are in lower case, as names of objects must be. */
const variables: Readonly<Record<string, (target: Target, owner: MatchedOwner | undefined) => string | undefined>> = {
  group: (target) => target.group,
  namespace: (target) => target.namespace,
  kind: (target) => target.kind.toLowerCase(),
  subkind: (target) => target.subkind,
  name: (target) => target.name,
  'owner.kind': (_target, owner) => owner?.kind.toLowerCase(),
  'owner.apiVersion': (_target, owner) => owner?.apiVersion.replaceAll('/', '-'),
  'owner.uid': (_target, owner) => owner?.uid,
}

/** The owner that satisfied a rule. */
export type MatchedOwner = Pick<OwnerReference, 'apiVersion' | 'kind' | 'uid'>

/** A parsed `mapname`. */
export interface MapNameTemplate {
  readonly text: string
  /** The literals around the variables: one more than there are variables. */
  readonly literals: readonly string[]
  readonly variables: readonly string[]
}

/** The name that a template gives for a target, or the reason why it gives none. */
export type MapName = { readonly name: string } | { readonly code: ProblemCode; readonly message: string }

/** Parses a `mapname`, or returns its first unknown variable. */
export function parseMapName(text: string): MapNameTemplate | { readonly unknown: string } {
  const literals: string[] = []
  const names: string[] = []
  let from = 0
  for (const match of text.matchAll(/\$\{([^{}]*)\}/g)) {
    const name = match[1]!
    if (!Object.hasOwn(variables, name)) return { unknown: name }
    literals.push(text.slice(from, match.index))
    names.push(name)
    from = match.index + match[0].length
  }
  literals.push(text.slice(from))
  return { text, literals, variables: names }
}

/** The variables of `mapname`, for messages. */
export const mapNameVariables: readonly string[] = Object.keys(variables).map((name) => `\${${name}}`)

/** Substitutes the values of a target. Returns the name, or the problem with it. */
export function fillMapName(template: MapNameTemplate, target: Target, owner: MatchedOwner | undefined): MapName {
  let name = template.literals[0]!
  for (const [index, variable] of template.variables.entries()) {
    const value = variables[variable]!(target, owner)
    if (value === undefined || (value === '' && variable !== 'group')) {
      return {
        code: 'NoValue',
        message: `\${${variable}} of mapname "${template.text}" has no value for ${describe(target)}`,
      }
    }
    name += value + template.literals[index + 1]!
  }
  if (isKnownValid(name)) return { name }
  const [invalid] = dns1123Subdomain(name)
  return invalid === undefined
    ? { name: cacheValid(name) }
    : {
        code: 'InvalidMapName',
        message: `mapname "${template.text}" gives "${name}" for ${describe(target)}, which is not a valid ConfigMap name: ${invalid}`,
      }
}

/** Reports whether a template can give this name for some target. */
export function canName(template: MapNameTemplate, name: string): boolean {
  if (template.variables.length === 0) return template.text === name
  const [first, ...others] = template.literals as [string, ...string[]]
  const last = others.pop()!
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false
  let at = first.length
  for (const literal of others) {
    const found = name.indexOf(literal, at)
    if (found < 0) return false
    at = found + literal.length
  }
  return at <= name.length - last.length
}

function describe(target: Target): string {
  const subkind = target.subkind === '' ? '' : `.${target.subkind}`
  return `${target.apiVersion} ${target.kind}${subkind}${target.name === '' ? '' : ` ${target.namespace}/${target.name}`}`
}

/** Cache of valid names: validating one takes longer than the rest of a lookup. */
const validNames = new Set<string>()
const maxValidNames = 10_000

function isKnownValid(name: string): boolean {
  return validNames.has(name)
}

function cacheValid(name: string): string {
  if (validNames.size >= maxValidNames) validNames.clear()
  validNames.add(name)
  return name
}
