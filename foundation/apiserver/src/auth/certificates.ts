// The server's own certificate authority: made once, kept in the data folder. P-256 throughout.
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { CertificateMaker } from '@fairlead/controller'
import type { CertificateUse, KeyPair, Subject } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import { readText, writePrivate } from './private-file.ts'

export type { KeyPair }

/** Everything a server needs to be spoken to over TLS, and to know its administrator. */
export interface Certificates {
  readonly ca: KeyPair
  readonly server: KeyPair
  /** User `kubernetes-admin`, group `system:masters`. */
  readonly admin: KeyPair
}

/** For whom and how long certificates are made. */
export interface CertificateOptions {
  readonly clock: Pick<Clock, 'now'>
  /** Names and addresses besides those of every local server. */
  readonly hosts?: readonly string[]
}

const day = 24 * 60 * 60_000
const lifetime = 3650 * day
/** Certificates of a folder are made anew when they have less left. */
const renewBefore = 30 * day
/** Clocks of clients may be slow. */
const backdate = 60 * 60_000

const authorityName: Subject = [['CN', 'fairlead-ca']]
const serverName: Subject = [['CN', 'fairlead-apiserver']]
const adminName: Subject = [
  ['O', 'system:masters'],
  ['CN', 'kubernetes-admin'],
]

/** Under which every local server is reached, from outside and from within. */
const localHosts: readonly string[] = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  '127.0.0.1',
  '::1',
]

/** Makes all of it, in memory. */
export async function makeCertificates(options: CertificateOptions): Promise<Certificates> {
  const maker = await makerOf(options)
  const ca = maker.authority(authorityName)
  return {
    ca,
    server: issue(maker, ca, serverName, { hosts: hostsOf(options) }),
    admin: issue(maker, ca, adminName, 'client'),
  }
}

/**
 * The certificates of a folder, which are made when they are missing. The authority stays for good; the others are made anew when a host is
 * missing or they run out. Files are readable by their owner only.
 */
export async function loadCertificates(folder: string, options: CertificateOptions): Promise<Certificates> {
  const ca = await keptPair(
    folder,
    'ca',
    (pair) => isFresh(pair, options),
    async () => (await makerOf(options)).authority(authorityName),
  )
  const isOurs = (pair: KeyPair): boolean =>
    isFresh(pair, options) && new X509Certificate(pair.cert).verify(new X509Certificate(ca.cert).publicKey)
  const hosts = hostsOf(options)
  return {
    ca,
    server: await keptPair(
      folder,
      'server',
      (pair) => isOurs(pair) && covers(pair, hosts),
      async () => issue(await makerOf(options), ca, serverName, { hosts }),
    ),
    admin: await keptPair(folder, 'admin', isOurs, async () => issue(await makerOf(options), ca, adminName, 'client')),
  }
}

function makerOf({ clock }: CertificateOptions): Promise<CertificateMaker> {
  const now = clock.now()
  return CertificateMaker.start({ from: now - backdate, until: now + lifetime })
}

function issue(maker: CertificateMaker, ca: KeyPair, subject: Subject, use: CertificateUse): KeyPair {
  return maker.issue({ cert: ca.cert, key: createPrivateKey(ca.key) }, subject, use)
}

function hostsOf({ hosts = [] }: CertificateOptions): readonly string[] {
  return [...new Set([...localHosts, ...hosts])]
}

function isFresh({ cert }: KeyPair, { clock }: CertificateOptions): boolean {
  return Date.parse(new X509Certificate(cert).validTo) - clock.now() > renewBefore
}

function covers({ cert }: KeyPair, hosts: readonly string[]): boolean {
  const certificate = new X509Certificate(cert)
  return hosts.every(
    (host) => (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined,
  )
}

async function keptPair(
  folder: string,
  name: string,
  isGood: (pair: KeyPair) => boolean,
  make: () => Promise<KeyPair>,
): Promise<KeyPair> {
  const [key, cert] = await Promise.all([readText(join(folder, `${name}.key`)), readText(join(folder, `${name}.crt`))])
  if (key !== undefined && cert !== undefined && isGood({ key, cert })) return { key, cert }
  const made = await make()
  await writePrivate(join(folder, `${name}.key`), made.key)
  await writePrivate(join(folder, `${name}.crt`), made.cert)
  return made
}
