// Sends recorded requests over HTTPS exactly as recorded: the listed headers, Host, Content-Length, credentials, a
// default Accept, nothing else.
import { request as httpsRequest } from 'node:https'
import type { Agent } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { parseJson, stringifyJson } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { ActualResponse } from './compare.ts'
import type { HttpRequest } from './scenario.ts'
import { fill, fillText } from './template.ts'
import type { TemplateScope } from './template.ts'

/** Where the server is and how to speak to it. */
export interface Target {
  readonly host: string
  readonly port: number
  readonly agent: Agent
  /** Bearer token per user of the recordings. */
  readonly tokens: Readonly<Record<string, string>>
}

/**
 * JSON with a space after each colon and comma: the bodies of the recordings were sent so, and some answers quote them.
 */
function spacedJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((item) => spacedJson(item as JsonValue)).join(', ')}]`
  if (value === null || typeof value !== 'object') return stringifyJson(value)
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${spacedJson(item as JsonValue)}`)
    .join(', ')}}`
}

function bodyOf(request: HttpRequest, scope: TemplateScope): string | undefined {
  if (request.body !== undefined) return spacedJson(fill(request.body, scope))
  if (request.rawBody !== undefined) return fillText(request.rawBody, scope)
  if (request.repeatBody !== undefined) {
    const { prefix, char, count, suffix } = request.repeatBody
    return fillText(prefix, scope) + char.repeat(Number(count)) + fillText(suffix, scope)
  }
  return undefined
}

/** Sends a request and resolves with the head of the response; the body is still to be read. */
export function open(target: Target, request: HttpRequest, scope: TemplateScope): Promise<IncomingMessage> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) headers[name] = fillText(value, scope)
  if (!Object.keys(headers).some((name) => name.toLowerCase() === 'accept')) headers['Accept'] = 'application/json'
  const token = request.token === undefined ? target.tokens[request.as ?? 'admin'] : fillText(request.token, scope)
  if (request.as !== 'anonymous' && token !== undefined) headers['Authorization'] = `Bearer ${token}`
  const body = bodyOf(request, scope)
  if (body !== undefined) headers['Content-Length'] = String(Buffer.byteLength(body))
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      {
        host: target.host,
        port: target.port,
        agent: target.agent,
        method: request.method,
        path: fillText(request.path, scope, encodeURIComponent),
        headers,
      },
      resolve,
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Header names in lower case; `warning` a list when there are several. */
export function headersOf(message: IncomingMessage): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (let index = 0; index + 1 < message.rawHeaders.length; index += 2) {
    const name = (message.rawHeaders[index] as string).toLowerCase()
    const value = message.rawHeaders[index + 1] as string
    const before = headers[name]
    headers[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
  }
  return headers
}

/** Reads a response to its end. */
export async function read(message: IncomingMessage): Promise<ActualResponse> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  return { status: message.statusCode ?? 0, headers: headersOf(message), bytes, json: tryJson(bytes) }
}

function tryJson(bytes: Buffer): JsonValue | undefined {
  try {
    return parseJson(bytes)
  } catch {
    return undefined
  }
}
