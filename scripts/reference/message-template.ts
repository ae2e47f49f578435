// Messages of errors as they stand in the sources: texts with their gaps named.
import {
  isElementAccessExpression,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isStringLiteral,
  isTemplateExpression,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is'
import type { ConstructorDeclaration, Node } from 'typescript/unstable/ast'

/** A message that a class makes from what its constructor is given. */
export interface OwnTemplate {
  /** The message for a code; `given` is the text that stands at one of the constructor's places, or at that named `message`. */
  text(value: string, given: { readonly at: number; readonly message: string } | undefined): string
}

/** A text or template with its gaps in braces; undefined for anything else. */
export function messageTemplate(node: Node): string | undefined {
  if (isStringLiteral(node)) return node.text
  const text = node.getText()
  return text.startsWith('`')
    ? unescaped(text.slice(1, -1).replaceAll(gaps, (_, gap: string) => `{${nameOf(gap)}}`))
    : undefined
}

/** What a constructor hands to `super`. */
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
      return unescaped(`${rest(node.head)}${filled.join('')}`)
    },
  }
}

/** The text of a piece of a template, without what encloses it. */
function rest(piece: Node): string {
  return piece
    .getText()
    .replace(/^[`}]/, '')
    .replace(/(?:`|\$\{)$/, '')
}

/** `texts[code]`, where `texts` is a constant of the file with a text for the code. */
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

const gaps = /\$\{((?:[^{}]|\{[^{}]*\})*)\}/g

/** `object.name` is {name}, `shown(value)` is {value}. */
function nameOf(gap: string): string {
  return /^[\w.]+$/.test(gap) ? gap.split('.').at(-1)! : (/\b([a-z]\w+)\b(?!\()/.exec(gap)?.[1] ?? '…')
}

function unescaped(text: string): string {
  return text.replaceAll('\\n', ' ').replaceAll(/\\(.)/g, '$1')
}
