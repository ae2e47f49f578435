// The admission seam: what may change or refuse a write between decoding and storing. Namespace rules, capabilities' validators, policies and webhooks
// are links of one chain.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import type { UserInfo } from '../identity/user.ts'
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
  /** CreateOptions, UpdateOptions or DeleteOptions as an object; made when a link asks. */
  readonly options?: () => JsonObject
  /** Aborted when the caller goes. */
  readonly signal?: AbortSignal
  /** Texts for `Warning` headers may be added. */
  readonly warnings: string[]
}

/** One link. Both may throw a StatusError to refuse; one that has nothing to do returns at once, without a promise. */
export interface AdmissionLink {
  readonly name: string
  /**
   * Returns the object to go on with; undefined or the same one when nothing changes. Called before defaults of the kind are prepared and
   * validated.
   */
  mutate?(request: AdmissionRequest): JsonObject | undefined | Promise<JsonObject | undefined>
  /** Sees the final object. */
  validate?(request: AdmissionRequest): void | Promise<void>
}

/** The chain. */
export class Admission {
  readonly #mutating: readonly AdmissionLink[]
  readonly #validating: readonly AdmissionLink[]

  constructor(links: readonly AdmissionLink[]) {
    this.#mutating = links.filter((link) => link.mutate !== undefined)
    this.#validating = links.filter((link) => link.validate !== undefined)
  }

  /** The object after every mutating link. */
  async mutate(request: AdmissionRequest): Promise<JsonObject | undefined> {
    let object = request.object as JsonObject | undefined
    for (const link of this.#mutating) {
      const answer = link.mutate!(object === request.object ? request : { ...request, object: object as KubeObject })
      const changed = answer instanceof Promise ? await answer : answer
      if (changed !== undefined) object = changed
    }
    return object
  }

  /** Throws a StatusError of the first link that refuses. Mutating links hear of deletions here: there is nothing that they could change. */
  async validate(request: AdmissionRequest): Promise<void> {
    if (request.operation === 'DELETE') await this.mutate(request)
    for (const link of this.#validating) {
      const answer = link.validate!(request)
      if (answer instanceof Promise) await answer
    }
  }
}
