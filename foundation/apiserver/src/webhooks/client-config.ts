// The `clientConfig` of admission and conversion webhooks: their address and trusted authorities.

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

/** Returns the URL of a webhook, with the DNS name of its service. @throws TypeError for an invalid URL */
export function webhookUrl({ url, service }: WebhookClientConfig): URL {
  if (service === undefined) return new URL(url ?? '')
  const { namespace = '', name = '', path = '', port = 443 } = service
  return new URL(`https://${name}.${namespace}.svc:${port}${path.startsWith('/') ? path : `/${path}`}`)
}

/** Formats a URL like Go, with the configured port even when it is the default one. */
export function shownUrl({ service }: WebhookClientConfig, url: URL): string {
  if (service === undefined) return url.toString()
  return `${url.protocol}//${url.hostname}:${service.port ?? 443}${url.pathname}${url.search}`
}
