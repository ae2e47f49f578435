// The certificates of a server: an authority, a certificate that it signed, and the bundle that callers trust. Renewal
// is a pure function of the certificates and the time; certificate-keeper.ts carries it out.
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import { CertificateMaker } from './certificate-maker.ts'
import type { KeyPair, Subject } from './certificate-maker.ts'

/** Certificates of one server, PEM. */
export interface ServingCertificates {
  /** Signs the next certificate. */
  readonly authority: KeyPair
  readonly serving: KeyPair
  /** The trusted authorities, the newest first. */
  readonly bundle: string
}

const day = 86_400_000
const authorityLifetime = 3650 * day
const servingLifetime = 90 * day
/** Callers trust an authority long before a certificate that it signed is used. */
const authorityLeft = 365 * day
const servingLeft = 30 * day
/** Tolerance for slow clocks of callers. */
const backdate = 3_600_000

const authorityName: Subject = [['CN', 'fairlead-webhook-ca']]
const servingName: Subject = [['CN', 'fairlead-webhook']]

/**
 * Returns the certificates to use at `now` (milliseconds since the epoch); `current` itself when nothing is due. A
 * certificate is renewed under the authority that callers trust already; a new authority first joins the bundle, so
 * that no caller sees a certificate that it cannot verify.
 */
export async function renewedCertificates(
  current: ServingCertificates | undefined,
  hosts: readonly string[],
  now: number,
): Promise<ServingCertificates> {
  if (current === undefined || expiry(current.authority) - now <= servingLifetime) return freshCertificates(hosts, now)
  const servingDue = expiry(current.serving) - now < servingLeft || !covers(current.serving, hosts)
  const authorityDue = expiry(current.authority) - now < authorityLeft
  const bundle = current.bundle.match(pemCertificate)?.filter((cert) => expiry({ cert }) > now) ?? []
  if (!servingDue && !authorityDue) return current
  const serving = servingDue ? await issue(current.authority, hosts, now) : current.serving
  if (!authorityDue) return { ...current, serving }
  const authority = await newAuthority(now)
  return { authority, serving, bundle: bundleOf([authority.cert, ...bundle]) }
}

async function freshCertificates(hosts: readonly string[], now: number): Promise<ServingCertificates> {
  const authority = await newAuthority(now)
  return { authority, serving: await issue(authority, hosts, now), bundle: bundleOf([authority.cert]) }
}

async function newAuthority(now: number): Promise<KeyPair> {
  return (await CertificateMaker.start({ from: now - backdate, until: now + authorityLifetime })).authority(
    authorityName,
  )
}

async function issue(authority: KeyPair, hosts: readonly string[], now: number): Promise<KeyPair> {
  const maker = await CertificateMaker.start({ from: now - backdate, until: now + servingLifetime })
  const signer = { cert: authority.cert, key: createPrivateKey(authority.key) }
  return maker.issue(signer, servingName, { hosts })
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function bundleOf(certificates: readonly string[]): string {
  return certificates.map((certificate) => `${certificate.trim()}\n`).join('')
}

function expiry({ cert }: Pick<KeyPair, 'cert'>): number {
  return Date.parse(new X509Certificate(cert).validTo)
}

function covers({ cert }: KeyPair, hosts: readonly string[]): boolean {
  const certificate = new X509Certificate(cert)
  return hosts.every(
    (host) => (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined,
  )
}
