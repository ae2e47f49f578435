// Upgrades to another protocol: decided like requests, then the connection is handed over, or gets a response and is
// closed.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { stringifyJson } from '@fairlead/kube'
import type { ListenOptions } from './listener.ts'
import type { ServerRequest, ServerResponse } from './message.ts'
import type { UpgradeHandler } from './route.ts'
import { serverRequest, splitTarget } from './server-request.ts'

/** The head of a request to upgrade. */
export type UpgradeRequest = Pick<ServerRequest, 'method' | 'path' | 'query' | 'headers'>

/** The decision on upgrades; the server's handler implements it. */
export interface Upgrader {
  /** Returns whether the upgrade of a request is decided here; all others are ignored. */
  upgrades(request: UpgradeRequest): boolean
  /** Returns the handler of the connection, or a refusal. Never throws. */
  upgrade(request: ServerRequest): Promise<UpgradeHandler | ServerResponse>
}

/** Returns the listener's options for upgrades. `closed` is aborted when the server closes. */
export function upgrades(
  handler: Upgrader,
  closed: AbortSignal,
): Required<Pick<ListenOptions, 'upgrade' | 'wantsUpgrade'>> {
  return {
    wantsUpgrade: ({ method = 'GET', url = '/', headers }) =>
      handler.upgrades({ method, headers, ...splitTarget(url) }),
    upgrade: (request, socket, head) => void upgrade(handler, request, socket, head, closed),
  }
}

async function upgrade(
  handler: Upgrader,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  closed: AbortSignal,
): Promise<void> {
  const disconnected = new AbortController()
  socket.on('close', () => disconnected.abort(new Error('The connection was closed.')))
  // Without a listener an error of the socket ends the process; the handler of the connection adds its own.
  socket.on('error', () => socket.destroy())
  const signal = AbortSignal.any([disconnected.signal, closed])
  const target = { ...splitTarget(request.url ?? '/'), target: undefined }
  const result = await handler.upgrade(serverRequest(request, target, undefined, signal))
  if (socket.destroyed) return
  if (typeof result === 'function') result({ request, socket, head })
  else refuse(result, socket)
}

/** Writes a response on a connection that node:http has detached. */
function refuse({ status, headers, body }: ServerResponse, socket: Duplex): void {
  const bytes =
    body.kind === 'bytes' ? body.bytes : Buffer.from(body.kind === 'json' ? stringifyJson(body.value as never) : '')
  // Importing node:http as a module reads all of its exports, which loads the client behind `fetch` and its kin: a
  // fifth of a server's start.
  const { STATUS_CODES } = process.getBuiltinModule('node:http')
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    ...Object.entries(headers).flatMap(([name, values]) =>
      (typeof values === 'string' ? [values] : values).map((value) => `${name}: ${value}`),
    ),
    `content-length: ${bytes.length}`,
    'connection: close',
  ]
  socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]))
}
