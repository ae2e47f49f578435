// A parser of text protobuf, as far as the CEL conformance cases use it: messages, repeated fields, strings, numbers,
// names.

/** A message: each field with all its values, in order. */
export type Message = ReadonlyMap<string, readonly Field[]>

/** A value of a field. `bytes` has the raw octets of strings. */
export type Field =
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'string'; readonly text: string; readonly bytes: Uint8Array }
  | { readonly kind: 'word'; readonly text: string }

const tokenForm =
  /\s+|#[^\n]*|("(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*')|(\[[^\]]*\])|([A-Za-z0-9_.+-]+)|([{}:;,<>[\]])/y

/** Parses one message. */
export function parseTextProto(text: string): Message {
  const tokens: { kind: 'string' | 'word' | 'type' | 'symbol'; text: string }[] = []
  tokenForm.lastIndex = 0
  while (tokenForm.lastIndex < text.length) {
    const at = tokenForm.lastIndex
    const match = tokenForm.exec(text)
    if (match === null) throw new Error(`no token at ${at}: ${text.slice(at, at + 40)}`)
    const [, quoted, type, word, symbol] = match
    if (quoted !== undefined) tokens.push({ kind: 'string', text: quoted })
    else if (type !== undefined) tokens.push({ kind: 'type', text: type })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word })
    else if (symbol !== undefined) tokens.push({ kind: 'symbol', text: symbol })
  }
  let next = 0
  const is = (symbol: string): boolean => tokens[next]?.kind === 'symbol' && tokens[next]!.text === symbol
  const readMessage = (): Message => {
    const fields = new Map<string, Field[]>()
    while (next < tokens.length && !is('}')) {
      const name = tokens[next++]!.text
      const values = fields.get(name) ?? []
      fields.set(name, values)
      if (is(':')) next++
      values.push(readValue())
      while (is(',') || is(';')) next++
    }
    return fields
  }
  const readValue = (): Field => {
    if (is('{')) {
      next++
      const message = readMessage()
      next++
      return { kind: 'message', message }
    }
    if (tokens[next]!.kind !== 'string') return { kind: 'word', text: tokens[next++]!.text }
    const octets: number[] = []
    while (tokens[next]?.kind === 'string') octets.push(...unquote(tokens[next++]!.text))
    const bytes = Uint8Array.from(octets)
    return { kind: 'string', bytes, text: new TextDecoder().decode(bytes) }
  }
  return readMessage()
}

const simple: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, a: 7, b: 8, f: 12, v: 11 }
const escapeForm = /\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([^]))|[^\\]+/g

function unquote(quoted: string): number[] {
  const encoder = new TextEncoder()
  return [...quoted.slice(1, -1).matchAll(escapeForm)].flatMap(([whole, hex, octal, short, long, character]) => {
    if (hex !== undefined) return [Number.parseInt(hex, 16)]
    if (octal !== undefined) return [Number.parseInt(octal, 8)]
    const point = short ?? long
    if (point !== undefined) return [...encoder.encode(String.fromCodePoint(Number.parseInt(point, 16)))]
    if (character !== undefined)
      return simple[character] === undefined ? [...encoder.encode(character)] : [simple[character]]
    return [...encoder.encode(whole)]
  })
}
