// Messages of errors as the sources write them: strings and templates, the expressions of templates as named
// placeholders.
import {
  isElementAccessExpression,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isStringLiteral,
  isTemplateExpression,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is'
import type { ConstructorDeclaration, Node } from 'typescript/unstable/ast'

/** A message that a class makes from the arguments of its constructor. */
export interface OwnTemplate {
  /**
   * The message for a code; `given` is the string argument at one of the constructor's positions, or at the one named
   * `message`.
   */
  text(value: string, given: { readonly at: number; readonly message: string } | undefined): string
}

/** A string or a template with placeholders in braces; undefined for anything else. */
export function messageTemplate(node: Node): string | undefined {
  if (isStringLiteral(node)) return node.text
  const text = node.getText()
  return text.startsWith('`') ? unescaped(withPlaceholders(text.slice(1, -1))) : undefined
}

/** The source of a template with a placeholder for each expression: `of ${error.name}` is `of {name}`. */
export function withPlaceholders(source: string): string {
  return merged(source.replaceAll(expressions, (_, expression: string) => `{${nameOf(expression)}}`))
}

/** The template that a constructor passes to `super`. */
export function ownTemplate(node: Node | undefined, made: ConstructorDeclaration | undefined): OwnTemplate | undefined {
  if (node === undefined || messageTemplate(node) === undefined) return undefined
  const parameters = made?.parameters.map(({ name }) => name.getText()) ?? []
  return {
    text(value, given) {
      if (!isTemplateExpression(node)) return messageTemplate(node)!
      const taken =
        given === undefined ? undefined : (parameters[given.at] ?? parameters.find((name) => name === 'message'))
      const filled = node.templateSpans.map(({ expression, literal }) => {
        const text = expression.getText()
        const known =
          text === 'kind' || text === 'code' ? value : text === taken ? given?.message : lookUp(expression, value)
        return `${known ?? `{${nameOf(text)}}`}${rest(literal)}`
      })
      return unescaped(merged(`${rest(node.head)}${filled.join('')}`))
    },
  }
}

/** The characters of a piece of a template, without its delimiters. */
function rest(piece: Node): string {
  return piece
    .getText()
    .replace(/^[`}]/, '')
    .replace(/(?:`|\$\{)$/, '')
}

/** `messages[code]`, where `messages` is a constant of the file with a string for the code. */
function lookUp(expression: Node, value: string): string | undefined {
  if (!isElementAccessExpression(expression)) return undefined
  const name = expression.expression.getText()
  let text: string | undefined
  const visit = (node: Node): undefined => {
    if (
      isVariableDeclaration(node) &&
      node.name.getText() === name &&
      node.initializer !== undefined &&
      isObjectLiteralExpression(node.initializer)
    )
      for (const property of node.initializer.properties)
        if (
          isPropertyAssignment(property) &&
          property.name.getText() === value &&
          isStringLiteral(property.initializer)
        )
          text = property.initializer.text
    node.forEachChild(visit)
    return undefined
  }
  visit(expression.getSourceFile())
  return text
}

const expressions = /\$\{((?:[^{}]|\{[^{}]*\})*)\}/g

/** `object.name` is {name}, `this.#value` is {value}, `shown(value)` is {value}. */
function nameOf(expression: string): string {
  const gap = expression.replaceAll(/\bthis\.#?/g, '')
  return /^[\w.]+$/.test(gap) ? gap.split('.').at(-1)! : (/\b([a-z]\w+)\b(?!\()/.exec(gap)?.[1] ?? '…')
}

/** Two expressions about one value side by side, such as its first letter and the others, are one placeholder. */
function merged(message: string): string {
  return message.replaceAll(/(\{\w+\})\1+/g, '$1')
}

function unescaped(text: string): string {
  return text.replaceAll('\\n', ' ').replaceAll(/\\(.)/g, '$1')
}
