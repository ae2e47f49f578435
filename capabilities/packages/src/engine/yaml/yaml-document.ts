// One document of a package file: its source, and its nodes once something asks for them.
import type { Document, YAMLMap } from 'yaml'
import type { JsonValue } from '@fairlead/kube'
import { yamlDialect, yamlLibrary } from '@fairlead/kube'
import { PackageError } from '../package-error.ts'
import { jsonOf } from './json-value.ts'
import { attachComments } from './comments.ts'

/** One document of a file. Parsed on first use: most documents of an update are never looked into. */
export class YamlDocument {
  /** File below the package folder. */
  readonly path: string
  /** Line of the file where the source begins, from 1. */
  readonly line: number
  /** Without the separator line; ends with a line break unless it is the unterminated end of the file. */
  readonly source: string
  #nodes: Document.Parsed | undefined

  constructor(path: string, line: number, source: string) {
    this.path = path
    this.line = line
    this.source = source
  }

  /**
   * Nodes of the `yaml` library in the dialect of kubectl. A comment behind the colon of a key whose value is a map or
   * list is the `comment` of the key. Write them with formatDocument, not with toString.
   * @throws PackageError `InvalidYaml`
   */
  get nodes(): Document.Parsed {
    return (this.#nodes ??= this.parse())
  }

  /** Returns fresh nodes that the caller may change. @throws PackageError `InvalidYaml` */
  parse(): Document.Parsed {
    const { LineCounter, parseDocument } = yamlLibrary()
    const lines = new LineCounter()
    const nodes = parseDocument(this.source, { ...yamlDialect, lineCounter: lines })
    const [error] = nodes.errors
    if (error !== undefined) {
      const line = this.line + lines.linePos(error.pos[0]).line - 1
      throw new PackageError('InvalidYaml', error.message, { path: this.path, line })
    }
    attachComments(nodes, this.source)
    return nodes
  }

  /** The map at the root; undefined for an empty document and for any other value. */
  get root(): YAMLMap | undefined {
    const { contents } = this.nodes
    return yamlLibrary().isMap(contents) ? contents : undefined
  }

  /** Holds nothing, or only comments. */
  get isEmpty(): boolean {
    return /^(?:[ \t]*(?:#.*)?(?:\n|$))*$/.test(this.source) || this.nodes.contents === null
  }

  /** The JSON value, aliases resolved. @throws PackageError `InvalidYaml` */
  toJson(): JsonValue {
    return jsonOf(this.nodes.contents, this.nodes, { path: this.path, line: this.line })
  }
}
