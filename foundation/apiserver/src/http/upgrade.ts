// Connections that want another protocol: asked about as requests are, then handed over or answered and closed.
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { stringifyJson } from '@fairlead/kube'
import type { ListenOptions } from './listener.ts'
import type { ServerRequest, ServerResponse } from './message.ts'
import type { UpgradeHandler } from './route.ts'
import { serverRequest, splitTarget } from './server-request.ts'

/** The methods of the handler that upgrade connections. */
export interface UpgradeTarget {
  /** Returns true when upgrade requests to a path go to {@link upgrade}; others are served as plain requests. */
  upgrades(path: string): boolean
  upgrade(request: ServerRequest): Promise<UpgradeHandler | ServerResponse>
}

/** Returns the listener's options that pass upgrade requests to `handler`. `closed` is aborted when the server closes. */
export function upgrades(
  handler: UpgradeTarget,
  closed: AbortSignal,
): Required<Pick<ListenOptions, 'upgrade' | 'wantsUpgrade'>> {
  return {
    wantsUpgrade: ({ url = '/' }) => handler.upgrades(splitTarget(url).path),
    upgrade: (request, socket, head) => void upgrade(handler, request, socket, head, closed),
  }
}

async function upgrade(
  handler: UpgradeTarget,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  closed: AbortSignal,
): Promise<void> {
  const gone = new AbortController()
  socket.on('close', () => gone.abort(new Error('The connection was closed.')))
  // Without a listener an error of the socket ends the process; whoever takes the connection over listens as well.
  socket.on('error', () => socket.destroy())
  const answer = await handler.upgrade(serverRequest(request, undefined, AbortSignal.any([gone.signal, closed])))
  if (socket.destroyed) return
  if (typeof answer === 'function') answer({ request, socket, head })
  else refuse(answer, socket)
}

/** Writes an answer on a connection that node:http has let go of. */
function refuse({ status, headers, body }: ServerResponse, socket: Duplex): void {
  const bytes =
    body.kind === 'bytes' ? body.bytes : Buffer.from(body.kind === 'json' ? stringifyJson(body.value as never) : '')
  // Importing node:http as a module reads all of its exports, which loads the client behind `fetch` and its kin: a fifth of a server's start.
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
