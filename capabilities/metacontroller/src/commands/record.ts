// `fairlead metacontroller record`: passes the calls of a controller's hooks on and writes each, with its response, as
// a case that `fairlead metacontroller test` reads.
import { writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Client } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { JsonSyntaxError, isJsonObject, parseJson, stringifyJson } from '@fairlead/kube'
import { CommandError, exitCode, usageError } from '@fairlead/offline'
import type { CaseResource } from '../offline/map-case.ts'
import { CaseRecorder } from '../offline/recorded-case.ts'
import { discoveredResource } from '../runtime/discovered-resource.ts'
import type { ControllerSpec } from './named-controllers.ts'
import { controllersNamed, resourcesNamedBy } from './named-controllers.ts'

interface Options {
  readonly to: string | undefined
  readonly port: string
  readonly count: string
}

/** Bytes of a request or response that is recorded; larger ones are passed on only. */
const maxRecorded = 4 * 1024 * 1024

/** Records until so many cases were written, or the signal aborts. */
export async function run(
  context: CommandContext<Options, { readonly name: string; readonly file: string }>,
): Promise<number> {
  const { name, file } = context.arguments
  const target = targetOf(context.options.to)
  const count = numberOf('--count', context.options.count)
  const client = await context.client()
  const controllers = await controllersNamed(client, name)
  const recorder = new CaseRecorder(controllers, await resourcesNamed(client, controllers), context.signal)
  const cases: object[] = []
  const ended = Promise.withResolvers<void>()
  /** One call after the other is recorded, in the order of their responses. */
  let last = Promise.resolve()
  const record = async (request: Buffer, response: Buffer): Promise<void> => {
    if (cases.length >= count) return
    const [sent, answered] = [valueOf(request), valueOf(response)]
    if (sent === undefined || answered === undefined || !isOf(sent, name)) return
    const entry = await recorder.record(sent, answered)
    if (entry === undefined) return
    cases.push(entry)
    writeFileSync(file, `${stringifyJson({ resources: recorder.resources, cases })}\n`, { mode: 0o600 })
    context.err(`${entry.id}`)
    if (cases.length >= count) ended.resolve()
  }
  const server = createServer((incoming, outgoing) => {
    void passOn(incoming, outgoing, target).then((exchange) => {
      if (exchange === undefined) return
      last = last
        .then(() => record(exchange.request, exchange.response))
        .catch((error: unknown) =>
          context.err(`Not recorded: ${error instanceof Error ? error.message : String(error)}`),
        )
    })
  })
  await listening(server, numberOf('--port', context.options.port))
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  context.err(`Recording the hooks of ${name} on http://${address}; ${adviceOf(controllers, address)}`)
  const stop = (): void => ended.resolve()
  context.signal.addEventListener('abort', stop, { once: true })
  if (context.signal.aborted) stop()
  await ended.promise
  context.signal.removeEventListener('abort', stop)
  await last
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  context.out(`${cases.length} cases of ${name} in ${file}`)
  return cases.length === 0 ? exitCode.error : exitCode.ok
}

/** Returns the kinds that controllers name. */
async function resourcesNamed(client: Client, controllers: readonly KubeObject[]): Promise<readonly CaseResource[]> {
  const found = new Map<string, CaseResource>()
  for (const name of controllers.flatMap(({ spec }) => resourcesNamedBy(spec as unknown as ControllerSpec))) {
    const { apiVersion, kind, plural, namespaced } = await discoveredResource(client.discovery, name)
    found.set(`${plural}.${apiVersion}`, { apiVersion, kind, plural, namespaced })
  }
  return [...found.values()]
}

/** Says how the calls come here: the host of a hook is resolved to this address, or the URL is changed. */
function adviceOf(controllers: readonly KubeObject[], address: string): string {
  const hosts = new Set(controllers.flatMap(({ spec }) => hostsOf(spec as JsonValue)))
  const flags = [...hosts].map((host) => `--resolve ${host}=${address}`).join(' ')
  return hosts.size === 0
    ? `give the controller this address as webhook.url`
    : `start "fairlead up ${flags}", or give the controller this address as webhook.url`
}

function hostsOf(value: JsonValue | undefined): readonly string[] {
  if (!isJsonObject(value)) return []
  const { url, service, ...others } = value
  const named = isJsonObject(service) ? [`${String(service['name'])}.${String(service['namespace'])}`] : []
  const host = typeof url === 'string' ? (URL.parse(url)?.hostname ?? '') : ''
  const isName = host !== '' && host !== 'localhost' && !/^[\d.[]/.test(host)
  return [...named, ...(isName ? [host] : []), ...Object.values(others).flatMap(hostsOf)]
}

/** Returns whether a request comes from a controller of that name; map hooks may be sent none (`trim`). */
function isOf(request: JsonValue, name: string): boolean {
  const controller = isJsonObject(request) ? request['controller'] : undefined
  const metadata = isJsonObject(controller) ? controller['metadata'] : undefined
  return controller === undefined || (isJsonObject(metadata) && metadata['name'] === name)
}

function valueOf(bytes: Buffer): JsonValue | undefined {
  if (bytes.length === 0 || bytes.length > maxRecorded) return undefined
  try {
    return parseJson(bytes)
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined
    throw error
  }
}

interface Exchange {
  readonly request: Buffer
  readonly response: Buffer
}

/** Headers that belong to one connection. */
const ofConnection = ['connection', 'keep-alive', 'transfer-encoding', 'host']

/** Passes a call on; returns the bodies of one that succeeded. Headers, and so credentials, are passed on only. */
async function passOn(incoming: IncomingMessage, outgoing: ServerResponse, target: URL): Promise<Exchange | undefined> {
  const request = Buffer.concat(await incoming.toArray())
  const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !ofConnection.includes(name)))
  try {
    const answer = await send(target, incoming, { ...headers, 'accept-encoding': 'identity' }, request)
    const response = Buffer.concat(await answer.toArray())
    const kept = Object.entries(answer.headers).filter(([name]) => !ofConnection.includes(name))
    outgoing.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept)).end(response)
    return answer.statusCode === 200 ? { request, response } : undefined
  } catch (error) {
    outgoing.writeHead(502).end(`The hook at ${target.origin} cannot be reached: ${(error as Error).message}`)
    return undefined
  }
}

function send(
  target: URL,
  { method, url = '/' }: IncomingMessage,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: Buffer,
): Promise<IncomingMessage> {
  const to = new URL(target)
  const [path, query = ''] = url.split('?', 2)
  // The setters keep the host, whatever the path is.
  to.pathname = target.pathname.replace(/\/$/, '') + path
  to.search = query
  const options = { method, headers: headers as Record<string, string> }
  return new Promise((resolve, reject) => {
    const sent = (to.protocol === 'https:' ? httpsRequest : httpRequest)(to, options, resolve)
    sent.on('error', reject)
    sent.end(body)
  })
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new CommandError(`Port ${port} of 127.0.0.1 cannot be used: ${error.message}; name another one with --port`),
      ),
    )
    server.listen(port, '127.0.0.1', resolve)
  })
}

function targetOf(to: string | undefined): URL {
  const url = URL.parse(to ?? '')
  if (url === null || !/^https?:$/.test(url.protocol))
    throw usageError('Name the address of the hooks, which calls are passed on to: --to http://127.0.0.1:8080')
  return url
}

function numberOf(flag: string, text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw usageError(`${flag} ${text} is no number`)
  return Number(text)
}
