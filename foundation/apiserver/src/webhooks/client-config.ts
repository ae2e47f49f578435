// The `clientConfig` of admission and conversion webhooks: their address and trusted authorities.
import { posix } from 'node:path'

/** The address of a webhook: exactly one of `url` and `service`. */
export interface WebhookClientConfig {
  readonly url?: string
  readonly service?: {
    readonly namespace?: string
    readonly name?: string
    readonly path?: string
    readonly port?: number
  }
  /** Base64 of PEM; the system's authorities when left out. */
  readonly caBundle?: string
}

/**
 * Returns the URL of a webhook, with the DNS name of its service. The path is cleaned like client-go's rest.Request
 * does: `https://host//a/./b/` is called at `/a/b`.
 * @throws TypeError for an invalid URL
 */
export function webhookUrl({ url = '', service }: WebhookClientConfig): URL {
  if (service === undefined) {
    const target = new URL(url)
    target.pathname = escapedPath(cleanPath(unescapedPath(partsOf(url).path)))
    return target
  }
  const { namespace = '', name = '', path = '', port = 443 } = service
  // A Service's path is no URL: its percent signs are characters.
  return new URL(`https://${name}.${namespace}.svc:${port}${escapedPath(cleanPath(bytesOf(path)))}`)
}

/** Formats a URL like Go, with the configured host and port, even when the port is the default one. */
export function shownUrl({ url: configured = '', service }: WebhookClientConfig, url: URL): string {
  const host = service === undefined ? partsOf(configured).host : `${url.hostname}:${service.port ?? 443}`
  return `${url.protocol}//${host}${url.pathname}${url.search}`
}

/** Returns host and path as written; `URL` would normalize them in ways of its own. */
function partsOf(url: string): { readonly host: string; readonly path: string } {
  const [, host = '', path = ''] = /^[^:]*:\/\/(?:[^/?#@]*@)?([^/?#]*)([^?#]*)/.exec(url) ?? []
  return { host, path }
}

/** Returns `path.Join("/", path)` of Go: no empty segments, no dots, no slash at the end. */
function cleanPath(path: string): string {
  return posix.resolve('/', path)
}

/** Returns the bytes of a string as characters. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** Returns the unescaped bytes of a URL's path as characters: they need not be UTF-8. */
function unescapedPath(path: string): string {
  return bytesOf(path).replaceAll(/%([0-9a-f]{2})/gi, (_escape, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/** Escapes bytes like net/url's EscapedPath. */
function escapedPath(path: string): string {
  return path.replaceAll(
    /[^\w.~$&+,/:;=@-]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
