// A TCP proxy in front of a server whose connections can be cut: what a client meets when a network fails.
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { once } from 'node:events'

/** A running proxy on a port of its own. */
export class CuttingProxy implements AsyncDisposable {
  readonly port: number
  cuts = 0
  /** While true, no connection comes through. */
  isDown = false
  readonly #server: Server
  readonly #open: Set<Socket>

  private constructor(server: Server, open: Set<Socket>) {
    this.#server = server
    this.#open = open
    this.port = (server.address() as AddressInfo).port
  }

  static async start(target: { readonly host: string; readonly port: number }): Promise<CuttingProxy> {
    const open = new Set<Socket>()
    let isDown = (): boolean => false
    const server = createServer((client) => {
      if (isDown()) {
        client.destroy()
        return
      }
      const upstream = connect(target)
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        open.add(from)
        from.on('error', () => to.destroy())
        from.on('close', () => {
          open.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new CuttingProxy(server, open)
    isDown = () => proxy.isDown
    return proxy
  }

  /** Ends every open connection at once; new ones are let through. */
  cut(): void {
    this.cuts++
    for (const socket of this.#open) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.cut()
    await once(this.#server, 'close')
  }
}
