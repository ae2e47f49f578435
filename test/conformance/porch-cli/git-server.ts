// A git server over HTTP with basic authentication: `git http-backend` behind node:http.
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { mkdirSync, rmSync } from 'node:fs'
import { gitResponse, sendGit } from '../../support/git-backend.ts'

const credentials = `Basic ${Buffer.from('nephio:secret').toString('base64')}`

/** Serves the bare repositories below a folder. Reading needs no credentials, as in the scenarios; writing does. */
export class GitServer implements AsyncDisposable {
  readonly folder: string
  readonly #server: Server

  private constructor(folder: string) {
    this.folder = folder
    this.#server = createServer((request, response) => this.#handle(request, response))
  }

  static async start(folder: string): Promise<GitServer> {
    const server = new GitServer(folder)
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Creates an empty repository, in place of one that exists. */
  create(name: string): string {
    const folder = join(this.folder, `${name}.git`)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    execFileSync('git', ['init', '--bare', '--quiet', '-b', 'main', folder])
    execFileSync('git', ['config', 'http.receivepack', 'true'], { cwd: folder })
    return folder
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, search } = new URL(request.url ?? '/', this.url)
    const isWrite = pathname.endsWith('git-receive-pack') || search.includes('git-receive-pack')
    if (isWrite && request.headers.authorization !== credentials) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    const path = pathname.replace(/^(\/nephio\/[^/]+?)(\.git)?\//, '$1.git/')
    void gitResponse(this.folder, path, request).then((answer) => sendGit(response, answer))
  }
}
