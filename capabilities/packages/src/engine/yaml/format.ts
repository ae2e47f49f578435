// Documents as kpt writes them (kyaml's encoder): two columns a level, lists compact or wide, comments where they were,
// no line folded, no blank lines but those between comments.
import type { Alias, Document, Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { yamlLibrary } from '@fairlead/kube'
import { keyComment } from './comments.ts'
import type { ScalarPlace } from './scalar-format.ts'
import { formatScalar } from './scalar-format.ts'
import type { SequenceIndent } from './sequence-indent.ts'

/** Options of formatDocument. */
export interface FormatOptions {
  /** `compact` unless given. */
  readonly sequenceIndent?: SequenceIndent
}

/** Returns the text of a document; ends with a line break. */
export function formatDocument(document: Document, options: FormatOptions = {}): string {
  return new Writer(options.sequenceIndent ?? 'compact').document(document)
}

class Writer {
  readonly #yaml = yamlLibrary()
  readonly #wide: boolean
  readonly #lines: string[] = []

  constructor(sequenceIndent: SequenceIndent) {
    this.#wide = sequenceIndent === 'wide'
  }

  document(document: Document): string {
    const { contents } = document
    if (typeof document.commentBefore === 'string') {
      this.#comment(document.commentBefore, '')
      if (contents !== null) this.#lines.push('')
    }
    if (contents !== null) {
      this.#comment(contents.commentBefore, '')
      this.#node(contents as Node, '', '', '')
    }
    if (typeof document.comment === 'string') {
      this.#lines.push('')
      this.#comment(document.comment, '')
    }
    return this.#lines.join('\n') + '\n'
  }

  /** Writes lines of comment at an indentation; empty ones separate groups. */
  #comment(comment: string | null | undefined, indent: string): void {
    if (typeof comment !== 'string') return
    // The library reads a line of `#` alone as a blank.
    for (const line of comment.split('\n'))
      this.#lines.push(line === '' ? '' : line === ' ' ? `${indent}#` : `${indent}#${line}`)
  }

  /**
   * Writes a node behind `lead`, which is the start of its first line with its indentation. Further lines begin at
   * `indent`; a block collection below a key begins on the line after `lead`, one in a list on it.
   */
  #node(node: Node, lead: string, indent: string, keyNote: string): void {
    if (!this.#isBlock(node)) {
      this.#inline(node, lead, indent, keyNote)
      return
    }
    const marks = propertiesOf(node)
    const startsOnLead = lead.endsWith('-') && marks === ''
    const head = lead !== '' && marks !== '' ? `${lead} ${marks}` : lead + marks
    if (!startsOnLead) {
      if (head !== '') this.#lines.push(head + keyNote)
      if (lead.endsWith(':')) this.#comment(node.commentBefore, indent)
    }
    const first = startsOnLead ? `${lead} ` : indent
    if (this.#yaml.isMap(node)) this.#map(node, first, indent)
    else if (this.#yaml.isSeq(node)) this.#seq(node, first, indent)
    this.#comment(node.comment, indent)
  }

  #isBlock(node: Node): node is YAMLMap | YAMLSeq {
    return this.#yaml.isCollection(node) && node.flow !== true && node.items.length > 0
  }

  #map(map: YAMLMap, first: string, indent: string): void {
    for (const [index, pair] of (map.items as Pair<Node, Node | null>[]).entries()) {
      if (index > 0 || first === indent) this.#comment(pair.key.commentBefore, indent)
      else if (typeof pair.key.commentBefore === 'string') {
        this.#lines.push(first.trimEnd())
        this.#comment(pair.key.commentBefore, indent)
        first = indent
      }
      const lead = `${index === 0 ? first : indent}${this.#key(pair.key)}:`
      const note = keyComment(pair.key)
      const keyNote = note === undefined ? '' : ` #${note}`
      if (pair.value === null) this.#lines.push(lead + keyNote)
      else this.#node(pair.value, lead, this.#yaml.isSeq(pair.value) && !this.#wide ? indent : `${indent}  `, keyNote)
    }
  }

  #seq(seq: YAMLSeq, first: string, indent: string): void {
    for (const [index, item] of (seq.items as (Node | null)[]).entries()) {
      let lead = `${index === 0 ? first : indent}-`
      if (typeof item?.commentBefore === 'string') {
        // Behind another dash there is no line for the comment.
        if (lead.trimStart() !== '-') this.#lines.push(lead.slice(0, -1).trimEnd())
        this.#comment(item.commentBefore, indent)
        lead = `${indent}-`
      }
      if (item === null) this.#lines.push(lead)
      else this.#node(item, lead, `${indent}  `, '')
    }
  }

  /** Writes scalars, aliases, and collections between brackets. */
  #inline(node: Node, lead: string, indent: string, keyNote: string): void {
    const [head, ...body] = this.#inlineLines(node, 'block')
    const comment = typeof node.comment === 'string' ? ` #${node.comment.replaceAll('\n', ' #')}` : ''
    const glue = lead === '' || head === '' ? '' : ' '
    if (body.length === 0) {
      this.#lines.push(`${lead}${glue}${head}${keyNote}${comment}`)
      return
    }
    const isBlockScalar = /^(?:[^'"]*\s)?[|>][-+0-9]*$/.test(head!)
    this.#lines.push(`${lead}${glue}${head}${isBlockScalar ? keyNote + comment : ''}`)
    const inner = indent === '' ? '  ' : indent
    for (const line of body) this.#lines.push(line === '' ? '' : inner + line)
    if (!isBlockScalar) this.#lines.push(`${this.#lines.pop()}${keyNote}${comment}`)
  }

  #inlineLines(node: Node, place: ScalarPlace): string[] {
    const marks = propertiesOf(node)
    const { isAlias, isMap, isScalar } = this.#yaml
    if (isAlias(node)) return [`*${(node as Alias).source}`]
    const lines = isScalar(node)
      ? formatScalar(node, place)
      : isMap(node)
        ? [`{${(node.items as Pair<Node, Node | null>[]).map((pair) => this.#flowPair(pair)).join(', ')}}`]
        : [`[${((node as YAMLSeq).items as Node[]).map((item) => this.#flowItem(item)).join(', ')}]`]
    if (marks !== '') lines[0] = lines[0] === '' ? marks : `${marks} ${lines[0]}`
    return lines
  }

  #flowItem(item: Node | Pair<Node, Node | null>): string {
    if (this.#yaml.isPair(item)) return this.#flowPair(item as Pair<Node, Node | null>)
    return this.#inlineLines(item, 'flow').join(' ')
  }

  #flowPair({ key, value }: Pair<Node, Node | null>): string {
    const text = value === null ? '' : this.#inlineLines(value, 'flow').join(' ')
    return text === '' ? `${this.#key(key)}:` : `${this.#key(key)}: ${text}`
  }

  #key(key: Node): string {
    if (this.#yaml.isScalar(key) && typeof key.value === 'symbol') return '<<'
    return this.#yaml.isNode(key) ? this.#inlineLines(key, 'key').join(' ') : String(key)
  }
}

/** Returns anchor and tag in front of a node. */
function propertiesOf(node: Node): string {
  const { anchor, tag } = node as Scalar
  const written = typeof tag === 'string' ? tag.replace(/^tag:yaml\.org,2002:/, '!!') : ''
  return [anchor === undefined ? '' : `&${anchor}`, written].filter((part) => part !== '').join(' ')
}
