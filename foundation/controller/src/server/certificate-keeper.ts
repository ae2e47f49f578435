// Keeps the certificates of a server: renewed in time, in a Secret that all replicas share, or in memory.
import { Secret } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isAlreadyExists, isConflict } from '@fairlead/kube'
import type { Clock, ObjectKey } from '@fairlead/kube'
import type { Logger } from '../logger.ts'
import { renewedCertificates } from './serving-certificates.ts'
import type { ServingCertificates } from './serving-certificates.ts'

/** What a keeper is made of. */
export interface CertificateKeeperOptions {
  readonly client: Client
  readonly clock: Clock
  /** Random numbers in [0, 1), for jitter. */
  readonly random: () => number
  readonly log: Logger
  /** Names and addresses under which the server is called. */
  readonly hosts: readonly string[]
  /** Where the certificates are kept. In memory when left out: for one process that is called under its own address. */
  readonly secret?: ObjectKey
}

/** Between looks at the certificates; renewal is due weeks before anything ends. Milliseconds. */
const lookEvery = 6 * 3_600_000
/** After a look that failed. Milliseconds. */
const lookAgain = 60_000
/** Before reading again what another replica has just written. Milliseconds. */
const raceWait = 50

/** Has certificates that are always good. */
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

  /** Reads the certificates, or makes them. Throws StatusError when the Secret can be neither read nor written. */
  static async start(options: CertificateKeeperOptions): Promise<CertificateKeeper> {
    const keeper = new CertificateKeeper(options, await load(options, undefined))
    keeper.#arm(lookEvery)
    return keeper
  }

  get current(): ServingCertificates {
    return this.#current
  }

  /** Calls `listener` whenever the certificates are others. */
  onRenewed(listener: (certificates: ServingCertificates) => void): void {
    this.#listeners.add(listener)
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    this.#timer?.[Symbol.dispose]()
  }

  #arm(ms: number): void {
    if (this.#disposed) return
    this.#timer = this.#options.clock.timer(ms * (1 + 0.2 * this.#options.random()), () => void this.#look())
  }

  async #look(): Promise<void> {
    try {
      const certificates = await load(this.#options, this.#current)
      const isNew =
        certificates.serving.cert !== this.#current.serving.cert || certificates.bundle !== this.#current.bundle
      this.#current = certificates
      if (isNew && !this.#disposed) for (const listener of this.#listeners) listener(certificates)
      this.#arm(lookEvery)
    } catch (error) {
      this.#options.log.error('Could not renew the certificates of the server', { error })
      this.#arm(lookAgain)
    }
  }
}

/**
 * The certificates of the Secret, renewed if that is due. Replicas that renew at once agree on what the first one
 * wrote.
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
      await clock.sleep(raceWait * (1 + random()))
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
