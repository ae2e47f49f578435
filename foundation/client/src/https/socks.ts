// Connections through a SOCKS5 proxy (RFC 1928; user and password by RFC 1929). The proxy resolves names, as with Go's
// net/http.
import { connect, isIP } from 'node:net'
import type { Socket } from 'node:net'

/** Time limit for all responses of a proxy. Milliseconds. */
const patience = 30_000

const refusals: Readonly<Record<number, string>> = {
  1: 'general failure',
  2: 'not allowed by its rules',
  3: 'network unreachable',
  4: 'host unreachable',
  5: 'connection refused',
  6: 'time to live expired',
  7: 'command not supported',
  8: 'address type not supported',
}

/**
 * Opens a connection to a host and port through a proxy (`socks5://[user:password@]host[:port]`). Rejects with Error
 * when the proxy does not.
 */
export async function connectThrough(proxy: URL, host: string, port: number): Promise<Socket> {
  const socket = connect(Number(proxy.port || 1080), proxy.hostname.replace(/^\[(.*)\]$/, '$1'))
  socket.setTimeout(patience, () => socket.destroy(new Error('the proxy did not respond in time')))
  try {
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    await negotiate(socket, proxy)
    socket.write(Buffer.from([5, 1, 0, ...addressOf(host), port >> 8, port & 0xff]))
    const [, code, , type] = await read(socket, 4)
    if (code !== 0) throw new Error(`the proxy refused: ${refusals[code!] ?? `code ${code}`}`)
    const length = type === 1 ? 4 : type === 4 ? 16 : (await read(socket, 1))[0]!
    await read(socket, length + 2)
    socket.setTimeout(0)
    return socket
  } catch (cause) {
    socket.destroy()
    throw new Error(`SOCKS proxy ${proxy.host}: ${(cause as Error).message}`, { cause })
  }
}

async function negotiate(socket: Socket, proxy: URL): Promise<void> {
  const [user, password] = [decodeURIComponent(proxy.username), decodeURIComponent(proxy.password)]
  socket.write(Buffer.from(user === '' ? [5, 1, 0] : [5, 2, 0, 2]))
  const [version, method] = await read(socket, 2)
  if (version !== 5) throw new Error('it does not speak SOCKS5')
  if (method === 0) return
  if (method !== 2 || user === '') throw new Error('it requires another authentication method')
  const [name, secret] = [Buffer.from(user), Buffer.from(password)]
  socket.write(Buffer.concat([Buffer.from([1, name.length]), name, Buffer.from([secret.length]), secret]))
  const [, status] = await read(socket, 2)
  if (status !== 0) throw new Error('it rejected the user and password')
}

function addressOf(host: string): number[] {
  if (isIP(host) === 4) return [1, ...host.split('.').map(Number)]
  if (isIP(host) === 6) return [4, ...bytesOf(host)]
  const name = Buffer.from(host)
  if (name.length > 255) throw new Error('the host name is too long')
  return [3, name.length, ...name]
}

function bytesOf(address: string): number[] {
  // The URL parser gives the shortest form, in which at most one run of zeros is left out.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}

/** Reads `length` bytes; later ones stay in the socket. */
function read(socket: Socket, length: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const take = (): void => {
      const bytes = socket.read(length) as Buffer | null
      if (bytes === null) return
      end()
      if (bytes.length < length) reject(new Error('it closed the connection'))
      else resolve(bytes)
    }
    const fail = (error?: Error): void => {
      end()
      reject(error ?? new Error('it closed the connection'))
    }
    const closed = (): void => fail()
    const end = (): void => void socket.off('readable', take).off('error', fail).off('end', closed).off('close', closed)
    socket.on('readable', take).on('error', fail).on('end', closed).on('close', closed)
    take()
  })
}
