// Git over HTTP: `git http-backend` for one request of node:http.
import { spawn } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** A response of git. */
export interface GitResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Returns git's response to a request for `path` below a folder of bare repositories. Writing needs no credentials. */
export async function gitResponse(folder: string, path: string, request: IncomingMessage): Promise<GitResponse> {
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: /\?(.*)/.exec(request.url ?? '')?.[1] ?? '',
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      REMOTE_USER: 'nephio',
      REMOTE_ADDR: '127.0.0.1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  backend.stdin.on('error', () => undefined)
  request.pipe(backend.stdin)
  const output = await buffer(backend.stdout)
  const end = output.indexOf('\r\n\r\n')
  const lines = output.toString('latin1', 0, Math.max(0, end)).split('\r\n')
  const fields = lines.map((line) => line.split(/: (.*)/s)).filter(([name]) => name !== undefined && name !== '')
  const headers = Object.fromEntries(fields.map(([name = '', value = '']) => [name.toLowerCase(), value]))
  const { status = '200', ...others } = headers
  return { status: Number.parseInt(status, 10), headers: others, body: output.subarray(end + 4) }
}

/** Sends a response of git. */
export function sendGit(response: ServerResponse, { status, headers, body }: GitResponse): void {
  response.writeHead(status, headers).end(body)
}
