// Stores the serving certificates of a server in a Secret that all replicas share, or in memory, and renews them.
import { Secret } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isAlreadyExists, isConflict } from '@fairlead/kube'
import type { Clock, ObjectKey } from '@fairlead/kube'
import type { Logger } from '../logger.ts'
import { renewedCertificates } from './serving-certificates.ts'
import type { ServingCertificates } from './serving-certificates.ts'

/** Options of a keeper. */
export interface CertificateKeeperOptions {
  readonly client: Client
  readonly clock: Clock
  /** Random numbers in [0, 1), for jitter. */
  readonly random: () => number
  readonly log: Logger
  /** DNS names and IP addresses of the server. */
  readonly hosts: readonly string[]
  /** The Secret of the certificates. In memory when left out: for a single process with its own address. */
  readonly secret?: ObjectKey
}

/** Interval of checks; renewal is due weeks before a certificate expires. Milliseconds. */
const checkInterval = 6 * 3_600_000
/** Delay after a failed check. Milliseconds. */
const retryDelay = 60_000
/** Delay before reading again what another replica has just written. Milliseconds. */
const conflictDelay = 50

/** Keeps serving certificates valid; renews them before expiry. */
export class CertificateKeeper implements Disposable {
  readonly #options: CertificateKeeperOptions
  readonly #listeners = new Set<(certificates: ServingCertificates) => void>()
  #current: ServingCertificates
  #timer: Disposable | undefined
  #disposed = false

  private constructor(options: CertificateKeeperOptions, current: ServingCertificates) {
    this.#options = options
    this.#current = current
  }

  /** Loads the certificates, or creates them. Throws StatusError when the Secret can be neither read nor written. */
  static async start(options: CertificateKeeperOptions): Promise<CertificateKeeper> {
    const keeper = new CertificateKeeper(options, await load(options, undefined))
    keeper.#schedule(checkInterval)
    return keeper
  }

  get current(): ServingCertificates {
    return this.#current
  }

  /** Calls `listener` whenever the certificates were renewed. */
  onRenewed(listener: (certificates: ServingCertificates) => void): void {
    this.#listeners.add(listener)
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    this.#timer?.[Symbol.dispose]()
  }

  #schedule(ms: number): void {
    if (this.#disposed) return
    this.#timer = this.#options.clock.timer(ms * (1 + 0.2 * this.#options.random()), () => void this.#check())
  }

  async #check(): Promise<void> {
    try {
      const certificates = await load(this.#options, this.#current)
      const isNew =
        certificates.serving.cert !== this.#current.serving.cert || certificates.bundle !== this.#current.bundle
      this.#current = certificates
      if (isNew && !this.#disposed) for (const listener of this.#listeners) listener(certificates)
      this.#schedule(checkInterval)
    } catch (error) {
      this.#options.log.error('Could not renew the certificates of the server', { error })
      this.#schedule(retryDelay)
    }
  }
}

/**
 * Loads the certificates of the Secret and renews them if that is due. Replicas that renew at the same time all use
 * what the first one wrote.
 */
async function load(
  { client, clock, random, hosts, secret }: CertificateKeeperOptions,
  current: ServingCertificates | undefined,
): Promise<ServingCertificates> {
  if (secret === undefined) return renewedCertificates(current, hosts, clock.now())
  for (;;) {
    const live = await client.find(Secret, secret)
    const kept = live === undefined ? undefined : certificatesOf(live)
    const renewed = await renewedCertificates(kept, hosts, clock.now())
    if (renewed === kept) return renewed
    try {
      const data = dataOf(renewed)
      if (live !== undefined) await client.update<Secret>({ ...live, data: { ...live.data, ...data } })
      else
        await client.create<Secret>({
          apiVersion: Secret.apiVersion,
          kind: Secret.kind,
          metadata: { ...secret },
          type: 'kubernetes.io/tls',
          data,
        })
      return renewed
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) throw error
      await clock.sleep(conflictDelay * (1 + random()))
    }
  }
}

function certificatesOf({ data }: Secret): ServingCertificates | undefined {
  const text = (key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString()
  const certificates = {
    authority: { key: text('ca.key'), cert: text('authority.crt') },
    serving: { key: text('tls.key'), cert: text('tls.crt') },
    bundle: text('ca.crt'),
  }
  const texts = [...Object.values(certificates.authority), ...Object.values(certificates.serving), certificates.bundle]
  return texts.every((one) => one.startsWith('-----BEGIN ')) ? certificates : undefined
}

function dataOf({ authority, serving, bundle }: ServingCertificates): Record<string, string> {
  const texts = {
    'ca.crt': bundle,
    'ca.key': authority.key,
    'authority.crt': authority.cert,
    'tls.crt': serving.cert,
    'tls.key': serving.key,
  }
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]))
}
