// The admission seam: what may change or refuse a write between decoding and storing. Namespace rules, capabilities' validators and webhooks are links
// of one chain.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { UserInfo } from '../auth/user.ts'
import type { ServedResource } from '../registry/registry.ts'

/** A write on its way. */
export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly resource: ServedResource
  readonly subresource: string
  readonly namespace: string
  /** '' while a generated name is not known yet. */
  readonly name: string
  /** In the version of the request; undefined for DELETE. */
  readonly object: KubeObject | undefined
  /** Undefined for CREATE. */
  readonly oldObject: KubeObject | undefined
  readonly user: UserInfo
  readonly dryRun: boolean
  /** Texts for `Warning` headers may be added. */
  readonly warnings: string[]
}

/** One link. Both may throw a StatusError to refuse. */
export interface AdmissionLink {
  readonly name: string
  /** Returns the object to go on with; the same one when nothing changes. Called before defaults of the kind are prepared and validated. */
  mutate?(request: AdmissionRequest): JsonObject | undefined | Promise<JsonObject | undefined>
  /** Sees the final object. */
  validate?(request: AdmissionRequest): void | Promise<void>
}

/** The chain. */
export class Admission {
  readonly #links: readonly AdmissionLink[]
  readonly #mutates: boolean
  readonly #validates: boolean

  constructor(links: readonly AdmissionLink[]) {
    this.#links = links
    this.#mutates = links.some((link) => link.mutate !== undefined)
    this.#validates = links.some((link) => link.validate !== undefined)
  }

  /** The object after every mutating link. */
  async mutate(request: AdmissionRequest): Promise<JsonObject | undefined> {
    let object = request.object as JsonObject | undefined
    if (!this.#mutates) return object
    for (const link of this.#links) {
      const changed = await link.mutate?.({ ...request, object: object as KubeObject | undefined })
      if (changed !== undefined) object = changed
    }
    return object
  }

  /** Throws a StatusError of the first link that refuses. */
  async validate(request: AdmissionRequest): Promise<void> {
    if (!this.#validates) return
    for (const link of this.#links) await link.validate?.(request)
  }
}
