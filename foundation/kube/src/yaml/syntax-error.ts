// The error of the YAML reader.

/**
 * A YAML source that cannot be read. Lines and columns count from 1; 0 where they are unknown.
 * - `InvalidYaml`: the source is not YAML, or has a value that JSON does not have.
 * - `YamlTooDeep`: lists and maps are nested deeper than `maxJsonDepth`.
 * - `YamlAliases`: aliases expand to far more than the source has.
 */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError'
  readonly code: 'InvalidYaml' | 'YamlTooDeep' | 'YamlAliases'
  readonly line: number
  readonly column: number

  constructor(code: YamlSyntaxError['code'], message: string, line: number = 0, column: number = 0) {
    super(line > 0 && !lacksLine(message, line) ? `yaml: line ${line}: ${message}` : `yaml: ${message}`)
    this.code = code
    this.line = line
    this.column = column
  }
}

/** Go's messages about anchors have no line, and those of its scanner not the first one. */
function lacksLine(message: string, line: number): boolean {
  return /^(unknown )?anchor '/.test(message) || (line === 1 && message.startsWith('mapping values are not allowed'))
}
