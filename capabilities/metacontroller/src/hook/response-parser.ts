// Parses the responses of hooks. Large ones in pieces, so that the process serves others meanwhile: first what is
// around the objects in the lists of the response, then one object after the other. Start with parseResponse.
import { yieldToEventLoop } from '@fairlead/client'
import type { MutableJsonObject } from '@fairlead/kube'
import { JsonSyntaxError, isJsonObject, parseJson } from '@fairlead/kube'
import type { ResponseBody } from '../engine/response.ts'
import { ResponseError } from '../engine/response-error.ts'

/** Characters up to which a response is parsed at once; parsing so many takes some milliseconds. */
const piece = 256 * 1024
/** Characters of one object, and of all beside the objects: an API server takes no larger request. */
const maxUnit = 3 * 1024 * 1024

/** Parses a response. Throws JsonSyntaxError, and ResponseError for one with an object that no server would take. */
export async function parseResponse(text: string): Promise<ResponseBody> {
  const duplicates: string[] = []
  const onDuplicate = (path: string): void => void duplicates.push(path)
  if (text.length <= piece) return { value: parseJson(text, { onDuplicate }), duplicates }
  const { outline, lists } = await split(text)
  if (outline.length > maxUnit) throw tooLarge('what it has beside its objects')
  const value = parseJson(outline, { onDuplicate })
  let parsed = outline.length
  for (const [field, items] of lists) {
    const list = isJsonObject(value) ? value[field] : undefined
    if (!Array.isArray(list)) continue
    for (const { index, start, end } of items) {
      const at = `${field}[${index}]`
      if (end - start > maxUnit) throw tooLarge(at)
      list[index] = parseJson(text.slice(start, end), {
        onDuplicate: (path) => onDuplicate(path.startsWith('[') ? at + path : `${at}.${path}`),
      })
      parsed += end - start
      if (parsed < piece) continue
      parsed = 0
      await yieldToEventLoop()
    }
  }
  return { value: value as MutableJsonObject, duplicates }
}

/** The place of an object in the text, and its index in its list. */
interface Item {
  readonly index: number
  readonly start: number
  readonly end: number
}

/** A response without the objects of its lists: null in their place. */
interface Split {
  readonly outline: string
  /** By the name of the field; of a repeated one the last counts. */
  readonly lists: ReadonlyMap<string, readonly Item[]>
}

const quote = 0x22
const backslash = 0x5c

/** Splits a response by its brackets, strings and commas. Throws JsonSyntaxError when it ends too early. */
async function split(text: string): Promise<Split> {
  const lists = new Map<string, Item[]>()
  const outline: string[] = []
  let copied = 0
  let depth = 0
  let field = ''
  let lastString: readonly [number, number] = [0, 0]
  let list: Item[] | undefined
  let index = 0
  let start = 0
  for (let at = 0, next = piece; at < text.length; at++) {
    if (at >= next) {
      next = at + piece
      await yieldToEventLoop()
    }
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at + 1)
        if (depth === 1) lastString = [at, end + 1]
        at = end
        break
      }
      case 0x3a: // :
        if (depth === 1) field = text.slice(...lastString)
        break
      case 0x2c: // ,
        if (depth === 2 && list !== undefined) index++
        break
      case 0x7b: // {
      case 0x5b: // [
        depth++
        if (depth === 2 && text[at] === '[') {
          list = []
          index = 0
          lists.set(parseJson(field === '' ? '""' : field) as string, list)
        } else if (depth === 2) list = undefined
        if (depth === 3) start = at
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        if (depth === 2 && list !== undefined) {
          outline.push(text.slice(copied, start), 'null')
          copied = at + 1
          list.push({ index, start, end: copied })
        } else if (depth === 1) list = undefined
        break
    }
  }
  if (depth > 0) throw endsEarly(text)
  outline.push(text.slice(copied))
  return { outline: outline.join(''), lists }
}

function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start)
  while (at >= 0 && isEscaped(text, at, start)) at = text.indexOf('"', at + 1)
  if (at < 0) throw endsEarly(text)
  return at
}

/** Returns whether an odd number of backslashes precedes a quote. */
function isEscaped(text: string, quoteAt: number, start: number): boolean {
  let at = quoteAt - 1
  while (at >= start && text.charCodeAt(at) === backslash) at--
  return (quoteAt - 1 - at) % 2 === 1
}

function endsEarly(text: string): JsonSyntaxError {
  return new JsonSyntaxError('InvalidJson', 'unexpected end of JSON input', text, text.length)
}

function tooLarge(what: string): ResponseError {
  return new ResponseError('InvalidResponse', `The response is too large: ${what} has more than 3 MiB`)
}
