// docs/reference/errors.md: every typed error that callers can meet. Codes are read off the classes' `code` (or
// `kind`), what they mean off the comment of the class or of the type of its codes, messages off the places where the
// errors are made. A class marked @internal is rethrown as another error and has no rows of its own; its messages go to
// that of the same code.
import {
  isCallExpression,
  isClassDeclaration,
  isConstructorDeclaration,
  isIdentifier,
  isNewExpression,
  isPropertyDeclaration,
  isStringLiteral,
  isTypeAliasDeclaration,
} from 'typescript/unstable/ast/is'
import { TypeFlags } from 'typescript/unstable/sync'
import type { LiteralType, Type, UnionType } from 'typescript/unstable/sync'
import type { ClassDeclaration, Node } from 'typescript/unstable/ast'
import type { GeneratedFile } from '../generate/generated-file.ts'
import { commentOf, commentText } from './declaration.ts'
import type { EntryPointLinks } from './entry-point-links.ts'
import { code, page, prose, table } from './markdown.ts'
import { codeMeanings } from './code-list.ts'
import { messageTemplate, ownTemplate } from './message-template.ts'
import type { OwnTemplate } from './message-template.ts'
import type { Package } from './workspace.ts'

interface ErrorClass {
  readonly name: string
  readonly isInternal: boolean
  /** The meaning of each code. */
  readonly meanings: ReadonlyMap<string, string>
  /** The message that the class makes itself. */
  readonly own: OwnTemplate | undefined
}

/** The page. Throws Error for a code about which nothing is said. */
export function errorPage(packages: readonly Package[], links: EntryPointLinks): GeneratedFile {
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
    const rows = rowsOf(classes, messagesOf(owner, classes), (name) => links.link(name, owner))
    return rows.length === 0 ? [] : [`## ${owner.name}`, table(['code', 'class', 'when', 'messages'], rows)]
  })
  const text = page(
    'Errors',
    'the error classes in the sources',
    'Errors that a caller can cause have a class and a stable `code`; the message says what happened, to what, and what to do. Placeholders are in braces. ' +
      'Errors of an API server, ours or a real one, are a `StatusError`, whose `reason` is that of Kubernetes (`NotFound`, `Conflict`, `Invalid`): ' +
      '`isNotFound`, `isConflict` and so on of `@fairlead/kube` distinguish them. What `terminal(message, { reason })` throws has the reason you give it as its code.',
    ...sections,
  )
  return { name: 'errors.md', text }
}

/** A row per code: classes that mean the same by it share one. */
function rowsOf(
  classes: readonly ErrorClass[],
  messages: ReadonlyMap<string, readonly string[]>,
  linked: (name: string) => string,
): string[][] {
  const internal = classes.filter(({ isInternal }) => isInternal)
  const shown = classes.filter(({ isInternal }) => !isInternal)
  const codes = [...new Set(shown.flatMap(({ meanings }) => [...meanings.keys()]))].toSorted()
  return codes.map((value) => {
    const sharing = shown.filter(({ meanings }) => meanings.has(value))
    const shownMessages = sharing.flatMap((error) => messagesFor(error, internal, value, messages))
    return [
      code(value),
      sharing.map(({ name }) => linked(name)).join(', '),
      [...new Set(sharing.map(({ meanings }) => prose(meanings.get(value)!)))].join(' '),
      [...new Set(shownMessages)].slice(0, 4).map(code).join('<br>'),
    ]
  })
}

function messagesFor(
  error: ErrorClass,
  internal: readonly ErrorClass[],
  value: string,
  messages: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const ofInternal = internal.flatMap(({ name }) => messages.get(`${name} ${value}`) ?? [])
  const found = [
    ...(messages.get(`${error.name} ${value}`) ?? []),
    ...ofInternal.map((message) => error.own?.text(value, { at: -1, message }) ?? message),
  ]
  return found.length > 0 || error.own === undefined ? found : [error.own.text(value, undefined)]
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
  const name = node.name!.getText()
  const members = node.members.filter(isPropertyDeclaration)
  for (const wanted of ['code', 'kind']) {
    const member = members.find((one) => one.name.getText() === wanted)
    const type = member === undefined ? undefined : owner.project.checker.getTypeAtLocation(member.name)
    const codes = type === undefined ? [] : literalsOf(type)
    if (member === undefined || codes.length === 0) continue
    const comment = commentOf(node)
    const alias = /^(\w+)$/.exec(member.type?.getText() ?? '')?.[1]
    const named = found(node.getSourceFile(), isTypeAliasDeclaration).find(({ name: own }) => own.getText() === alias)
    const isInternal = comment.includes('@internal')
    const meanings = isInternal
      ? new Map(codes.map((value) => [value, '']))
      : codeMeanings(name, codes, commentText(comment), named === undefined ? '' : commentText(commentOf(named)))
    const made = node.members.find(isConstructorDeclaration)
    const call = found(node, isCallExpression).find(({ expression }) => expression.getText() === 'super')
    return [{ name, isInternal, meanings, own: ownTemplate(call?.arguments[0], made) }]
  }
  return []
}

function literalsOf(type: Type): string[] {
  if ((type.flags & TypeFlags.Union) !== 0) return (type as UnionType).getTypes().flatMap(literalsOf)
  const { value } = type as LiteralType
  return typeof value === 'string' ? [value] : []
}

/** By class and code: the messages of the places where the error is made. */
function messagesOf(owner: Package, classes: readonly ErrorClass[]): ReadonlyMap<string, string[]> {
  const known = new Map(classes.map((error) => [error.name, error]))
  const messages = new Map<string, string[]>()
  for (const { expression, arguments: given = [] } of owner.sources.flatMap((file) => found(file, isNewExpression))) {
    const error = isIdentifier(expression) ? known.get(expression.text) : undefined
    if (error === undefined) continue
    const texts = given.map((argument) => (isStringLiteral(argument) ? argument.text : undefined))
    const value =
      texts.find((text) => text !== undefined && error.meanings.has(text)) ??
      (error.meanings.size === 1 ? [...error.meanings.keys()][0] : undefined)
    const at = given.findIndex((argument, index) => texts[index] !== value && messageTemplate(argument) !== undefined)
    if (value === undefined || at < 0) continue
    const message = messageTemplate(given[at]!)!
    const key = `${error.name} ${value}`
    const whole = error.own === undefined ? message : error.own.text(value, { at, message })
    messages.set(key, [...(messages.get(key) ?? []), whole])
  }
  return messages
}
