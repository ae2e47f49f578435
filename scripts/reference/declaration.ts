// Declarations for the reference: with the comments of properties and methods, without bodies and private parts.
import {
  isClassDeclaration,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isPrivateIdentifier,
  isPropertyDeclaration,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is'
import type { Node, VariableDeclaration } from 'typescript/unstable/ast'

/** Names of types in a declaration: words that begin with a capital letter, outside of comments and strings. */
export function namesIn(text: string): string[] {
  const bare = text.replaceAll(/\/\*\*[^]*?\*\/|'[^'\n]*'/g, '')
  return [...bare.matchAll(/(?<![\w.])[A-Z]\w*/g)].map(([name]) => name)
}

/** The kind of a declaration, which decides its heading. */
export type DeclarationKind = 'class' | 'function' | 'constant' | 'type'

/** The kind of a declaration. */
export function kindOf(node: Node): DeclarationKind {
  if (isClassDeclaration(node)) return 'class'
  if (isFunctionDeclaration(node)) return 'function'
  return isVariableDeclaration(node) ? 'constant' : 'type'
}

/** The text of a declaration without bodies, initializers and `export`. */
export function declarationText(node: Node): string {
  if (isFunctionDeclaration(node)) return signature(node)
  if (isVariableDeclaration(node)) return constantText(node)
  const text = isClassDeclaration(node) ? classText(node) : bare(textOf(node))
  return text.replaceAll(/\{@link ([^}]+)\}/g, '$1').replace('{\n\n', '{\n')
}

/** With its type, else with its value where that is short. */
function constantText({ name, type, initializer }: VariableDeclaration): string {
  if (type !== undefined) return `const ${textOf(name)}: ${textOf(type)}`
  const value = initializer === undefined ? '' : textOf(initializer)
  return value === '' || value.split('\n').length > 12 ? `const ${textOf(name)}` : `const ${textOf(name)} = ${value}`
}

function classText(node: Node & { readonly members: readonly Node[] }): string {
  const first = node.members[0]
  const text = textOf(node)
  const head = first === undefined ? text.replace(/\s*\}$/, '') : text.slice(0, first.pos - node.getStart())
  const members = node.members
    .filter((member) => isPublic(member) && !isImplementation(member, node.members))
    .map(memberText)
  return members.length === 0 ? `${bare(head).trimEnd()}}` : `${bare(head).trimEnd()}\n${members.join('\n')}\n}`
}

function isPublic(member: Node): boolean {
  const { name } = member as { readonly name?: Node }
  if ((name !== undefined && isPrivateIdentifier(name)) || commentOfOwn(member).includes('@internal')) return false
  if (isConstructorDeclaration(member)) return commentOfOwn(member) !== ''
  return !textOf(member).startsWith('private ')
}

/** The last of several declarations of a name, which only the compiler calls. */
function isImplementation(member: Node, members: readonly Node[]): boolean {
  const { name, body } = member as { readonly name?: Node; readonly body?: Node }
  if (body === undefined) return false
  const id = isConstructorDeclaration(member) ? 'constructor' : name?.getText()
  return members.some((other) => {
    const { name: otherName, body: otherBody } = other as { readonly name?: Node; readonly body?: Node }
    const isMethod = other.kind === member.kind && other !== member && otherBody === undefined
    return isMethod && (isConstructorDeclaration(other) ? 'constructor' : otherName?.getText()) === id
  })
}

function memberText(member: Node): string {
  const comment = commentOfOwn(member)
  const text = isPropertyDeclaration(member)
    ? textOf(member)
        .replace(/^([\w ]+) = ('[^']*')$/, '$1: $2')
        .replace(/ = [^\n]*(\n[\s\S]*)?$/, '')
    : signature(member)
  return `${comment === '' ? '' : `\n  ${comment}\n`}  ${text.replace(/^async /, '')}`
}

/** Everything before the body. */
function signature(node: Node): string {
  const { body } = node as { readonly body?: Node }
  const text = textOf(node)
  const head = bare(body === undefined ? text : text.slice(0, body.pos - node.getStart())).trimEnd()
  // Where a default is private, that there is one is what matters.
  return head.replaceAll(/(\w+)(: [^=]+?) = this\.#[\w.]+/g, '$1?$2')
}

/** A comment without its stars and tags of the compiler. */
export function commentText(comment: string): string {
  return comment
    .replace(/^\/\*\*\s*(?:\* ?)?/, '')
    .replace(/\s*\*\/$/, '')
    .replaceAll(/\n\s*\* ?/g, '\n')
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
    .trim()
}

function commentOfOwn(node: Node): string {
  return node.jsDoc === undefined ? '' : commentOf(node)
}

/** The comment of a declaration as in the source; '' when there is none. */
export function commentOf(node: Node): string {
  // That of a constant precedes the statement around it.
  for (let owner: Node | undefined = node, up = 0; owner !== undefined && up < 3; owner = owner.parent, up++) {
    const last = owner.jsDoc?.at(-1)
    // The opening comment of the file counts as part of its first comment.
    if (last !== undefined)
      return owner
        .getSourceFile()
        .text.slice(last.pos, last.end)
        .replace(/^[^]*?(?=\/\*\*)/, '')
        .trim()
  }
  return ''
}

function textOf(node: Node): string {
  return node.getText()
}

function bare(text: string): string {
  return text.replace(/^export (default )?/, '')
}
