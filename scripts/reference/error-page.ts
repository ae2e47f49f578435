// docs/reference/errors.md: every typed error of every package. Codes are read off the classes' `code`, what they mean off the comments (sentences that
// begin with the code in backticks), messages off the places where the errors are made.
import {
  isCallExpression,
  isClassDeclaration,
  isIdentifier,
  isNewExpression,
  isPropertyDeclaration,
  isStringLiteral,
} from 'typescript/unstable/ast/is'
import { TypeFlags } from 'typescript/unstable/sync'
import type { LiteralType, Type, UnionType } from 'typescript/unstable/sync'
import type { ClassDeclaration, Node } from 'typescript/unstable/ast'
import type { GeneratedFile } from '../generate/generated-file.ts'
import { code, page, prose, table } from './markdown.ts'
import type { Package } from './workspace.ts'

interface ErrorClass {
  readonly name: string
  readonly owner: Package
  readonly codes: readonly string[]
  /** Comments of the class and of the type of its codes. */
  readonly comment: string
  /** The message that the class makes itself, for all of its codes. */
  readonly own: string | undefined
}

/** The page. */
export function errorPage(packages: readonly Package[]): GeneratedFile {
  const bases = new Map(
    packages.flatMap(({ sources }) =>
      sources.flatMap((file) => classesIn(file).map((node) => [node.name!.getText(), baseOf(node)] as const)),
    ),
  )
  const sections = packages.flatMap((owner) => {
    const classes = owner.sources
      .flatMap(classesIn)
      .filter((node) => isError(node.name!.getText(), bases))
      .flatMap((node) => errorClass(node, owner))
    if (classes.length === 0) return []
    const messages = messagesOf(owner, packages, classes)
    const rows = classes.flatMap((error) =>
      error.codes.map((value) => [
        code(value),
        code(error.name),
        prose(meaningOf(error, value)),
        [
          ...new Set([
            ...(messages.get(`${error.name} ${value}`) ?? []),
            ...(error.own === undefined ? [] : [error.own]),
          ]),
        ]
          .slice(0, 4)
          .map(code)
          .join('<br>'),
      ]),
    )
    return [
      `## ${owner.name}`,
      table(
        ['code', 'class', 'when, and what to do', 'messages'],
        rows.toSorted((left, right) => (left[0]! < right[0]! ? -1 : 1)),
      ),
    ]
  })
  const text = page(
    'Errors',
    'the error classes in the sources',
    'Errors that somebody can cause have a class and a stable `code`; the message says what happened, to what, and what to do. What stands in braces is filled in. ' +
      'Answers of the API server are Statuses with the reasons of Kubernetes (`StatusError`), and so are those of a cluster.',
    ...sections,
  )
  return { name: 'errors.md', text }
}

function classesIn(node: Node): ClassDeclaration[] {
  return found(node, isClassDeclaration).filter(({ name }) => name !== undefined)
}

function found<T extends Node>(root: Node, is: (node: Node) => node is T): T[] {
  const all: T[] = []
  const visit = (node: Node): undefined => {
    if (is(node)) all.push(node)
    node.forEachChild(visit)
    return undefined
  }
  visit(root)
  return all
}

function baseOf(node: ClassDeclaration): string | undefined {
  return node.heritageClauses
    ?.map((clause) => /^extends ([\w.]+)/.exec(clause.getText())?.[1])
    .find((name) => name !== undefined)
}

function isError(name: string | undefined, bases: ReadonlyMap<string, string | undefined>): boolean {
  if (name === undefined) return false
  return name === 'Error' || (name !== bases.get(name) && isError(bases.get(name), bases))
}

function errorClass(node: ClassDeclaration, owner: Package): ErrorClass[] {
  const member = node.members.filter(isPropertyDeclaration).find(({ name }) => name.getText() === 'code')
  if (member === undefined) return []
  const { checker } = owner.project
  const type = checker.getTypeAtLocation(member.name)
  const codes = type === undefined ? [] : literalsOf(type)
  if (codes.length === 0) return []
  const typeName = /^(\w+)$/.exec(member.type?.getText() ?? '')?.[1]
  const alias =
    typeName === undefined ? '' : commentBefore(node.getSourceFile().text, new RegExp(`export type ${typeName}\\b`))
  const text = [alias, commentBefore(node.getSourceFile().text, new RegExp(`class ${node.name!.getText()}\\b`))].join(
    ' ',
  )
  const made = found(node, isCallExpression).find((call) => call.expression.getText() === 'super')?.arguments[0]
  const template = made === undefined ? undefined : templateOf(made)
  return [{ name: node.name!.getText(), owner, codes, comment: text, own: template }]
}

function literalsOf(type: Type): string[] {
  if ((type.flags & TypeFlags.Union) !== 0) return (type as UnionType).getTypes().flatMap(literalsOf)
  const { value } = type as LiteralType
  return typeof value === 'string' ? [value] : []
}

/** The comment right before a declaration, as one line. */
function commentBefore(text: string, declaration: RegExp): string {
  const at = text.search(declaration)
  const before = at < 0 ? '' : text.slice(0, at)
  const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:export )?(?:abstract )?$/.exec(before)?.[1] ?? ''
  return comment
    .replaceAll(/\n\s*\*/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** The sentences about a code, else what is said of the class. */
function meaningOf({ comment, codes }: ErrorClass, value: string): string {
  const about = comment.split(/(?=(?:^|(?<=[.:;] ))(?:`\w+`(?:, | and )?)+: )/)
  const own = about.find((part) => new RegExp(`^[^:]*\`${value}\`[^:]*: `).test(part))
  if (own !== undefined) return own.replace(/^[^:]*: /, '').trim()
  return codes.length === 1 || about.length === 1 ? comment : about[0]!.startsWith('`') ? '' : about[0]!.trim()
}

/** By class and code: the messages of the places where the error is made. */
function messagesOf(
  owner: Package,
  packages: readonly Package[],
  classes: readonly ErrorClass[],
): ReadonlyMap<string, string[]> {
  const known = new Map(classes.map((error) => [error.name, error]))
  const messages = new Map<string, string[]>()
  const sources = packages.filter(({ folder }) => folder === owner.folder).flatMap(({ sources: files }) => files)
  for (const expression of sources.flatMap((file) => found(file, isNewExpression))) {
    const error = isIdentifier(expression.expression) ? known.get(expression.expression.text) : undefined
    if (error === undefined) continue
    const values = (expression.arguments ?? []).map((argument) =>
      isStringLiteral(argument) ? argument.text : undefined,
    )
    const value =
      values.find((text) => text !== undefined && error.codes.includes(text)) ??
      (error.codes.length === 1 ? error.codes[0] : undefined)
    const message = (expression.arguments ?? [])
      .filter((_, index) => values[index] === undefined || values[index] !== value)
      .map(templateOf)
      .find((text) => text !== undefined)
    if (value === undefined || message === undefined) continue
    const key = `${error.name} ${value}`
    messages.set(key, [...(messages.get(key) ?? []), message])
  }
  return messages
}

/** A text or template with its gaps named; undefined for anything else. */
function templateOf(node: Node): string | undefined {
  if (isStringLiteral(node)) return node.text
  const text = node.getText()
  if (!text.startsWith('`')) return undefined
  return text
    .slice(1, -1)
    .replaceAll(
      /\$\{((?:[^{}]|\{[^{}]*\})*)\}/g,
      (_, gap: string) =>
        `{${/^[\w.]+$/.test(gap) ? gap.split('.').at(-1) : (/\b([a-z]\w+)\b(?!\()/.exec(gap)?.[1] ?? '…')}}`,
    )
    .replaceAll(/\\(.)/g, '$1')
}
