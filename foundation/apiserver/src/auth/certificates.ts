// The server's own certificate authority: created once, stored in the data folder. All keys are P-256.
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { CertificateMaker } from '@fairlead/controller'
import type { CertificateUse, KeyPair, Subject } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import { readText, writePrivate } from './private-file.ts'

export type { KeyPair }

/**
 * The certificates of a server: its authority, its serving certificate, and the client certificate of its
 * administrator.
 */
export interface Certificates {
  readonly ca: KeyPair
  readonly server: KeyPair
  /** User `kubernetes-admin`, group `system:masters`. */
  readonly admin: KeyPair
}

/** Options for creating certificates. */
export interface CertificateOptions {
  readonly clock: Pick<Clock, 'now'>
  /** Names and addresses besides those of every local server. */
  readonly hosts?: readonly string[]
}

const day = 24 * 60 * 60_000
const lifetime = 3650 * day
/** Stored certificates are renewed when less time is left. */
const renewBefore = 30 * day
/** Tolerates slow clocks of clients. */
const backdate = 60 * 60_000

const names = ['ca', 'server', 'admin'] as const

const authorityName: Subject = [['CN', 'fairlead-ca']]
const serverName: Subject = [['CN', 'fairlead-apiserver']]
const adminName: Subject = [
  ['O', 'system:masters'],
  ['CN', 'kubernetes-admin'],
]

/** Names and addresses of every local server, from outside and from within the cluster. */
const localHosts: readonly string[] = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  '127.0.0.1',
  '::1',
]

/** Creates certificates in memory. */
export function makeCertificates(options: CertificateOptions): Promise<Certificates> {
  return completed({}, options)
}

/**
 * Loads the certificates of a folder and creates the missing ones. The authority is never replaced while valid; the
 * others are renewed when a host is missing or they expire. Files are readable by their owner only. Nothing is written
 * before `locked` resolves: until then another process may use the folder.
 */
export async function loadCertificates(
  folder: string,
  options: CertificateOptions,
  locked: Promise<unknown> = Promise.resolve(),
): Promise<Certificates> {
  // It may reject before it is awaited below.
  locked.catch(() => undefined)
  const kept = await readCertificates(folder)
  const wanted = await completed(kept, options)
  const made = names.filter((name) => wanted[name] !== kept[name])
  if (made.length === 0) return wanted
  await locked
  const now = await readCertificates(folder)
  // The previous holder of the lock has created some meanwhile.
  if (names.some((name) => now[name]?.cert !== kept[name]?.cert)) return loadCertificates(folder, options)
  for (const name of made) writePair(folder, name, wanted[name])
  return wanted
}

/** Returns the valid ones of the stored certificates, and new ones in place of the rest. */
async function completed(kept: Partial<Certificates>, options: CertificateOptions): Promise<Certificates> {
  const hosts = hostsOf(options)
  const isGood = (pair: KeyPair | undefined): pair is KeyPair => pair !== undefined && isFresh(pair, options)
  const ca = isGood(kept.ca) ? kept.ca : (await makerOf(options)).authority(authorityName)
  const isOurs = (pair: KeyPair | undefined): pair is KeyPair =>
    isGood(pair) && new X509Certificate(pair.cert).verify(new X509Certificate(ca.cert).publicKey)
  return {
    ca,
    server:
      isOurs(kept.server) && covers(kept.server, hosts)
        ? kept.server
        : issue(await makerOf(options), ca, serverName, { hosts }),
    admin: isOurs(kept.admin) ? kept.admin : issue(await makerOf(options), ca, adminName, 'client'),
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

/** Returns true when the certificate is not about to expire and matches its key. */
function isFresh({ cert, key }: KeyPair, { clock }: CertificateOptions): boolean {
  const certificate = new X509Certificate(cert)
  return (
    Date.parse(certificate.validTo) - clock.now() > renewBefore && certificate.checkPrivateKey(createPrivateKey(key))
  )
}

function covers({ cert }: KeyPair, hosts: readonly string[]): boolean {
  const certificate = new X509Certificate(cert)
  return hosts.every(
    (host) => (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined,
  )
}

async function readCertificates(folder: string): Promise<Partial<Certificates>> {
  const pairs = await Promise.all(
    names.map(async (name): Promise<[string, KeyPair] | undefined> => {
      const [key, cert] = await Promise.all([
        readText(join(folder, `${name}.key`)),
        readText(join(folder, `${name}.crt`)),
      ])
      return key === undefined || cert === undefined ? undefined : [name, { key, cert }]
    }),
  )
  return Object.fromEntries(pairs.filter((pair) => pair !== undefined))
}

/** Writes the key first: a key without a certificate is replaced, as is one that does not match. */
function writePair(folder: string, name: string, { key, cert }: KeyPair): void {
  writePrivate(join(folder, `${name}.key`), key)
  writePrivate(join(folder, `${name}.crt`), cert)
}
