// Documents are written as kpt writes them; what it would lose stays.
import { describe, expect, test } from 'vitest'
import { formatDocument } from '../src/engine/yaml/format.ts'
import { sequenceIndentOf } from '../src/engine/yaml/sequence-indent.ts'
import { YamlDocument } from '../src/engine/yaml/yaml-document.ts'
import { yamlDocuments } from '../src/engine/yaml/yaml-file.ts'

const formatted = (source: string): string =>
  formatDocument(new YamlDocument('a.yaml', 1, source).nodes, { sequenceIndent: sequenceIndentOf(source) })

describe('a document', () => {
  test.each([
    [
      'comments',
      '# licence\n\n# head\na: 1 # one\n# above b\nb: # behind b\n  # above c\n  c: 2\n  # below c\nd: 3\n# end\n',
    ],
    [
      'quotes and number formats',
      'a: "x"\nb: \'y\'\nc: 0x1f\nd: 1e3\ne: 1.0\nf: ~\ng:\nh: yes\ni: "12"\nj: 12345678901234567890\n',
    ],
    [
      'literal and folded strings',
      'a: |\n  one\n    two\n\n  three\nb: >-\n  folded\nc: |+\n  end\n\nd: |2-\n   indented\n',
    ],
    ['compact lists', 'a:\n- x: 1\n  y: 2\n# above\n- - p\n  - q\n- [r, s]\n'],
    ['wide lists', 'a:\n  - x: 1\n    y:\n      - 2\n'],
    ['anchors, aliases, merge keys and tags', 'a: &x\n  b: 1\nc: *x\nd:\n  <<: *x\ne: !!str 12\n'],
    ['maps and lists between brackets', 'a: {b: c, d: [e, "f"], g: {}}\nh: []\n'],
    ['base64', 'a: !!binary aGVsbG8=\nb: !!binary |\n  aGVs\n  bG8=\nc: {d: !!binary aGVsbG8=}\n'],
    ['tags of lists', 'a: !!omap\n- b: 1\nc: !!pairs\n- d: 1\n- d: 2\n'],
    ['long lines', `a: ${'word '.repeat(60)}end\n`],
  ])('keeps %s', (_, source) => {
    expect(formatted(source)).toBe(source)
  })

  test.each([
    ['blank lines between fields go', 'a: 1\n\nb:\n\n  c: 2\n', 'a: 1\nb:\n  c: 2\n'],
    ['deep indentation becomes two columns', 'a:\n    b:\n        c: 1\n', 'a:\n  b:\n    c: 1\n'],
    ['blanks between brackets go', 'a: { b: c }\nd: [ e, f ]\n', 'a: {b: c}\nd: [e, f]\n'],
    ['a plain string over several lines becomes one line', 'a: one\n  two\n', 'a: one two\n'],
    ['one blank before a comment', 'a: 1    # one\n', 'a: 1 # one\n'],
  ])('%s', (_, source, result) => {
    expect(formatted(source)).toBe(result)
  })

  test.each([
    ['true', 'a: "true"\n'],
    ['off', 'a: "off"\n'],
    ['0x10', 'a: "0x10"\n'],
    ['', 'a: ""\n'],
    ['a: b', "a: 'a: b'\n"],
    ['# c', "a: '# c'\n"],
    ["it's", "a: it's\n"],
    ['two\nlines\n', 'a: |\n  two\n  lines\n'],
    ['tab\tx', 'a: "tab\\tx"\n'],
    [3, 'a: 3\n'],
    [null, 'a: null\n'],
  ])('writes the new value %j so that it is read as the same', (value, text) => {
    const { nodes } = new YamlDocument('a.yaml', 1, 'a: old\n')
    nodes.setIn(['a'], value)
    expect(formatDocument(nodes)).toBe(text)
    expect(new YamlDocument('a.yaml', 1, text).toJson()).toEqual({ a: value })
  })

  test('names file and line of a syntax error', () => {
    const [, second] = yamlDocuments('sub/a.yaml', 'a: 1\n---\nb: 1\nc: [\n')
    expect(() => second!.nodes).toThrow(/^sub\/a\.yaml:5: /)
  })

  test('refuses aliases that multiply without bound', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
    for (let level = 1; level < 9; level++) {
      const before = String.fromCharCode(96 + level)
      lines.push(
        `${String.fromCharCode(97 + level)}: &${String.fromCharCode(97 + level)} [${Array(10).fill(`*${before}`).join(', ')}]`,
      )
    }
    expect(() => new YamlDocument('a.yaml', 1, `${lines.join('\n')}\n`).toJson()).toThrow('excessive aliasing')
  })
})
