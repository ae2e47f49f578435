// Remotes that fail as a test says: a git server over HTTPS, and a program `ssh` in place of the system's.
import { once } from 'node:events'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { gitResponse, sendGit } from '../../../test/support/git-backend.ts'
import { caCertificate, serverCertificate, serverKey } from '../../../test/support/certificates.ts'

/** Faults of a server over HTTPS. `answer` is what git would send; without it the request never reaches git. */
export const httpsFaults = {
  hangs: () => undefined,
  'resets connections': (response: ServerResponse) => void response.socket?.resetAndDestroy(),
  'asks for credentials': (response: ServerResponse) =>
    void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end(),
  'forbids it': (response: ServerResponse) => void response.writeHead(403).end(),
  'has no such repository': (response: ServerResponse) => void response.writeHead(404).end(),
  'is overloaded': (response: ServerResponse) => void response.writeHead(503).end(),
  'redirects to another host': (response: ServerResponse) =>
    void response.writeHead(302, { location: 'http://127.0.0.2:1/elsewhere.git' }).end(),
  'answers with a page': (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>'),
} as const satisfies Readonly<Record<string, (response: ServerResponse) => void>>

/** Faults in the middle of an answer of git. */
export type AnswerFault = 'damages packs' | 'cuts packs' | 'sends a byte at a time' | 'loses the answer of a push'

/** The name of a fault of a server over HTTPS. */
export type HttpsFault = keyof typeof httpsFaults | AnswerFault

/** Serves the bare repositories below a folder over HTTPS. */
export class HttpsGitServer implements AsyncDisposable {
  fault: HttpsFault | undefined
  readonly #folder: string
  readonly #server = createServer({ key: serverKey, cert: serverCertificate }, (request, response) => {
    this.#handle(request, response).catch(() => response.destroy())
  })

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async start(folder: string): Promise<HttpsGitServer> {
    const server = new HttpsGitServer(folder)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The certificate of its authority, in PEM. */
  get authority(): string {
    return caCertificate
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { fault } = this
    const path = (request.url ?? '').replace(/\?.*/, '')
    if (fault !== undefined && fault in httpsFaults)
      return httpsFaults[fault as keyof typeof httpsFaults](response) as undefined
    const answer = await gitResponse(this.#folder, path, request)
    const { body } = answer
    const isPack = body.includes('PACK')
    if (fault === 'loses the answer of a push' && path.endsWith('git-receive-pack'))
      return void response.socket?.resetAndDestroy()
    if (fault === 'damages packs' && isPack) body[body.lastIndexOf('PACK') + 20]! ^= 0xff
    if (fault === 'cuts packs' && isPack) {
      response.writeHead(200, answer.headers).write(body.subarray(0, body.indexOf('PACK') + 20))
      return void setImmediate(() => response.socket?.destroy())
    }
    if (fault !== 'sends a byte at a time') return sendGit(response, answer)
    response.writeHead(200, answer.headers)
    let at = 0
    const drip = setInterval(() => response.write(body.subarray(at, ++at)), 50)
    response.once('close', () => clearInterval(drip))
  }
}

/** Faults of ssh: what its program does in place of git's. */
export const sshFaults = {
  hangs: 'exec sleep 600',
  'refuses connections': 'echo "ssh: connect to host 127.0.0.1 port 22: Connection refused" >&2; exit 255',
  'refuses the key': 'echo "git@127.0.0.1: Permission denied (publickey)." >&2; exit 255',
  'has another host key': 'echo "Host key verification failed." >&2; exit 255',
  'has no such repository': 'echo "fatal: \'$2\' does not appear to be a git repository" >&2; exit 128',
  'breaks off': 'eval "git ${1#git-}" </dev/null | head -c 300',
  'stops reading': '(exec </dev/null; sleep 0.3; eval "git ${1#git-}") & exit',
  'sends a byte at a time': 'eval "git ${1#git-}" | while IFS= read -r -n 1 byte; do printf %s "$byte"; sleep 1; done',
} as const satisfies Readonly<Record<string, string>>

/** The name of a fault of ssh. */
export type SshFault = keyof typeof sshFaults

/** A program `ssh` that runs git on this machine, first in the PATH of this process until disposed. */
export class SshStub implements Disposable {
  readonly #script: string
  readonly #path = process.env['PATH']

  constructor(folder: string) {
    mkdirSync(join(folder, 'bin'))
    this.#script = join(folder, 'bin', 'ssh')
    this.fault = undefined
    process.env['PATH'] = [join(folder, 'bin'), this.#path].join(delimiter)
  }

  set fault(fault: SshFault | undefined) {
    const body = fault === undefined ? 'eval "exec git ${1#git-}"' : sshFaults[fault]
    // The last argument is the command; options such as BatchMode come before it.
    const script = `#!/bin/bash\nwhile [ $# -gt 1 ]; do shift; done\n${body}\n`
    // Replaced in one step: bash reads a script while it runs it, and an ssh of before may still be running.
    writeFileSync(`${this.#script}.new`, script, { mode: 0o755 })
    renameSync(`${this.#script}.new`, this.#script)
  }

  [Symbol.dispose](): void {
    process.env['PATH'] = this.#path
  }
}
