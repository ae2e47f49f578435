// An agent of node:http or node:https whose connections go through a SOCKS5 proxy.
import type { Agent } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { ConnectionOptions } from 'node:tls'
import { connectThrough } from './socks.ts'

type Done = (error: Error | null, socket?: Duplex) => void

/** Makes an agent connect through the proxy and returns it; `secure`: its connections use TLS. */
export function throughSocks(agent: Agent, proxy: URL, secure: boolean): Agent {
  const open = async (options: ConnectionOptions, done: Done): Promise<void> => {
    let socket: Socket
    try {
      socket = await connectThrough(proxy, options.host!, Number(options.port))
    } catch (error) {
      return done(error as Error)
    }
    done(null, secure ? connectTls({ ...options, socket }) : socket)
  }
  return Object.assign(agent, {
    createConnection: (options: ConnectionOptions, done: Done): undefined => void open(options, done),
  })
}
