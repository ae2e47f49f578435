// `clientConfig` of webhooks, of admission and of conversion alike: where they are and whom to trust.

/** Where a webhook is: exactly one of `url` and `service`. */
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

/** The address of a webhook, with the service's DNS name where it is one. @throws TypeError for a URL that is none */
export function webhookUrl({ url, service }: WebhookClientConfig): URL {
  if (service === undefined) return new URL(url ?? '')
  const { namespace = '', name = '', path = '', port = 443 } = service
  return new URL(`https://${name}.${namespace}.svc:${port}${path.startsWith('/') ? path : `/${path}`}`)
}

/** A URL as Go prints it, with the port that was given even where it is the usual one. */
export function shownUrl({ service }: WebhookClientConfig, url: URL): string {
  if (service === undefined) return url.toString()
  return `${url.protocol}//${url.hostname}:${service.port ?? 443}${url.pathname}${url.search}`
}
