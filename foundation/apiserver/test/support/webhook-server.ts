// A real HTTPS server for webhooks, with a certificate of its own authority.
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { makeCertificates } from '@fairlead/apiserver'
import { systemClock } from '@fairlead/client'
import type { JsonObject } from '@fairlead/kube'

/** The response of a webhook: JSON with status 200, or a status and a plain body; `never` keeps the client waiting. */
export type WebhookAnswer = JsonObject | { readonly code: number; readonly text: string } | 'never'

/** One call as it came. */
export interface WebhookRequest {
  readonly path: string
  readonly review: JsonObject
}

const certificates = makeCertificates({ clock: systemClock, hosts: ['hooks.default.svc'] })

/** Answers every call by a function, and remembers the calls. */
export class WebhookServer implements AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Base64 PEM of the authority. */
  readonly caBundle: string
  /** Base64 PEM of the serving certificate. */
  readonly certificate: string
  readonly calls: WebhookRequest[]
  readonly #close: () => Promise<void>

  private constructor(
    port: number,
    { caBundle, certificate }: Pick<WebhookServer, 'caBundle' | 'certificate'>,
    calls: WebhookRequest[],
    close: () => Promise<void>,
  ) {
    this.url = `https://127.0.0.1:${port}`
    this.port = port
    this.caBundle = caBundle
    this.certificate = certificate
    this.calls = calls
    this.#close = close
  }

  static async start(
    answer: (review: JsonObject, path: string) => WebhookAnswer | Promise<WebhookAnswer>,
    host = '127.0.0.1',
  ): Promise<WebhookServer> {
    const { ca, server } = await certificates
    const calls: WebhookRequest[] = []
    const listener = createServer({ key: server.key, cert: server.cert }, (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const review = JSON.parse(Buffer.concat(chunks).toString('utf8')) as JsonObject
        const path = request.url ?? ''
        calls.push({ path, review })
        void Promise.resolve(answer(review, path)).then((said) => {
          if (said === 'never') return
          const isPlain = typeof said['text'] === 'string' && typeof said['code'] === 'number'
          response.writeHead(isPlain ? (said['code'] as number) : 200, { 'content-type': 'application/json' })
          response.end(isPlain ? (said['text'] as string) : JSON.stringify(said))
        })
      })
    })
    await new Promise<void>((resolve) => listener.listen(0, host, resolve))
    const { port } = listener.address() as AddressInfo
    const caBundle = Buffer.from(ca.cert).toString('base64')
    const certificate = Buffer.from(server.cert).toString('base64')
    return new WebhookServer(port, { caBundle, certificate }, calls, async () => {
      listener.closeAllConnections()
      await new Promise<void>((resolve) => listener.close(() => resolve()))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

/** An AdmissionReview that answers another. */
export function reviewAnswer(review: JsonObject, response: JsonObject): JsonObject {
  const { uid } = review['request'] as { uid: string }
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, ...response } }
}

/** A response that patches. */
export function patchResponse(patch: readonly JsonObject[]): JsonObject {
  return { allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
}
