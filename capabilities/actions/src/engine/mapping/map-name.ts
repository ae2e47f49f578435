// `mapname` of a rule: the name of a ConfigMap with variables anywhere in it.
import { dns1123Subdomain } from '@fairlead/kube'
import type { OwnerReference } from '@fairlead/kube'
import type { ProblemCode } from '../data/problem.ts'
import type { Target } from './target.ts'

/** Variables of `mapname`, each with what it stands for. Kinds and subkinds are in lower case, as names of objects must be. */
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

/** A `mapname`, read once. */
export interface MapNameTemplate {
  readonly text: string
  /** Literal texts, and variables between them: one text more than variables. */
  readonly texts: readonly string[]
  readonly variables: readonly string[]
}

/** What a template gives for a target. */
export type MapName = { readonly name: string } | { readonly code: ProblemCode; readonly message: string }

/** Reads a `mapname`; a text says which variable is unknown. */
export function parseMapName(text: string): MapNameTemplate | { readonly unknown: string } {
  const texts: string[] = []
  const names: string[] = []
  let from = 0
  for (const match of text.matchAll(/\$\{([^{}]*)\}/g)) {
    const name = match[1]!
    if (!Object.hasOwn(variables, name)) return { unknown: name }
    texts.push(text.slice(from, match.index))
    names.push(name)
    from = match.index + match[0].length
  }
  texts.push(text.slice(from))
  return { text, texts, variables: names }
}

/** The variables that a `mapname` may hold, for messages. */
export const mapNameVariables: readonly string[] = Object.keys(variables).map((name) => `\${${name}}`)

/** Puts the values of a target in. A name comes out, or what is wrong with it. */
export function fillMapName(template: MapNameTemplate, target: Target, owner: MatchedOwner | undefined): MapName {
  let name = template.texts[0]!
  for (const [index, variable] of template.variables.entries()) {
    const value = variables[variable]!(target, owner)
    if (value === undefined || (value === '' && variable !== 'group')) {
      return {
        code: 'NoValue',
        message: `\${${variable}} of mapname "${template.text}" has no value for ${describe(target)}`,
      }
    }
    name += value + template.texts[index + 1]!
  }
  if (isKnownName(name)) return { name }
  const [why] = dns1123Subdomain(name)
  return why === undefined
    ? { name: remember(name) }
    : {
        code: 'InvalidMapName',
        message: `mapname "${template.text}" gives "${name}" for ${describe(target)}, which is no name of a ConfigMap: ${why}`,
      }
}

/** Whether a name can come out of a template, whatever the target. */
export function canName(template: MapNameTemplate, name: string): boolean {
  if (template.variables.length === 0) return template.text === name
  const [first, ...others] = template.texts as [string, ...string[]]
  const last = others.pop()!
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false
  let at = first.length
  for (const text of others) {
    const found = name.indexOf(text, at)
    if (found < 0) return false
    at = found + text.length
  }
  return at <= name.length - last.length
}

function describe(target: Target): string {
  const subkind = target.subkind === '' ? '' : `.${target.subkind}`
  return `${target.apiVersion} ${target.kind}${subkind}${target.name === '' ? '' : ` ${target.namespace}/${target.name}`}`
}

/** Names that were found valid: checking one takes longer than all the rest of a mapping. */
const validNames = new Set<string>()
const maxValidNames = 10_000

function isKnownName(name: string): boolean {
  return validNames.has(name)
}

function remember(name: string): string {
  if (validNames.size >= maxValidNames) validNames.clear()
  validNames.add(name)
  return name
}
