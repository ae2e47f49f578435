// Watch streams: one JSON value per line.
import { StringDecoder } from 'node:string_decoder'

/**
 * Yields the lines of a byte stream, without empty ones. Splits on newline bytes, so characters that span chunks stay
 * whole.
 */
export async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of chunks) {
    const text = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = rest === '' ? text.slice(from, end) : rest + text.slice(from, end)
      rest = ''
      from = end + 1
      if (line.trim() !== '') yield line
    }
    rest += from === 0 ? text : text.slice(from)
  }
  if (rest.trim() !== '') yield rest
}
