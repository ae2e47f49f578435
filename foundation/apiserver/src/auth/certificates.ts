// The server's own certificate authority: created once, stored in the data folder. Keys are P-256, except that of the
// administrator.
import { X509Certificate, createPrivateKey, generateKeyPair } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CertificateMaker } from '@fairlead/controller'
import type { CertificateUse, KeyPair, Keys, Subject } from '@fairlead/controller'
import type { Clock } from '@fairlead/kube'
import { readText, writePrivate } from './private-file.ts'

export type { KeyPair }

/** The certificates of a server: its authority and its serving certificate. */
export interface Certificates {
  readonly ca: KeyPair
  readonly server: KeyPair
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

const names = ['ca', 'server'] as const

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
  const { server } = kept
  const keepsServer = isGood(server) && isSignedBy(server, ca) && covers(server, hosts)
  return { ca, server: keepsServer ? server : issue(await makerOf(options), ca, serverName, { hosts }) }
}

const newKeys = promisify(generateKeyPair)

/**
 * Returns the client certificate of the administrator, user `kubernetes-admin` in the group `system:masters`; with a
 * folder, which this process must have locked, the one stored there. Its key is RSA: fabric8, the client of most Java
 * operators, reads any other as RSA and fails. Such keys take a while, so they are made outside of the event loop.
 */
export async function adminCertificate(
  ca: KeyPair,
  options: Pick<CertificateOptions, 'clock'>,
  folder?: string,
): Promise<KeyPair> {
  const kept = folder === undefined ? undefined : await readPair(folder, 'admin')
  if (kept !== undefined && isFresh(kept, options) && isSignedBy(kept, ca) && hasRsaKey(kept)) return kept
  const keys = await newKeys('rsa', { modulusLength: 2048 })
  const admin = issue(await makerOf(options), ca, adminName, 'client', keys)
  if (folder !== undefined) writePair(folder, 'admin', admin)
  return admin
}

function hasRsaKey({ key }: KeyPair): boolean {
  return createPrivateKey(key).asymmetricKeyType === 'rsa'
}

function isSignedBy({ cert }: KeyPair, ca: KeyPair): boolean {
  return new X509Certificate(cert).verify(new X509Certificate(ca.cert).publicKey)
}

function makerOf({ clock }: CertificateOptions): Promise<CertificateMaker> {
  const now = clock.now()
  return CertificateMaker.start({ from: now - backdate, until: now + lifetime })
}

function issue(maker: CertificateMaker, ca: KeyPair, subject: Subject, use: CertificateUse, keys?: Keys): KeyPair {
  return maker.issue({ cert: ca.cert, key: createPrivateKey(ca.key) }, subject, use, keys)
}

function hostsOf({ hosts = [] }: CertificateOptions): readonly string[] {
  return [...new Set([...localHosts, ...hosts])]
}

/** Returns true when the certificate is not about to expire and matches its key. */
function isFresh({ cert, key }: KeyPair, { clock }: CertificateOptions): boolean {
  const certificate = new X509Certificate(cert)
  const now = clock.now()
  return (
    // The clock of a machine may have been ahead when the certificate was made.
    Date.parse(certificate.validFrom) <= now &&
    Date.parse(certificate.validTo) - now > renewBefore &&
    certificate.checkPrivateKey(createPrivateKey(key))
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
      const pair = await readPair(folder, name)
      return pair && [name, pair]
    }),
  )
  return Object.fromEntries(pairs.filter((pair) => pair !== undefined))
}

async function readPair(folder: string, name: string): Promise<KeyPair | undefined> {
  const [key, cert] = await Promise.all([readText(join(folder, `${name}.key`)), readText(join(folder, `${name}.crt`))])
  return key === undefined || cert === undefined ? undefined : { key, cert }
}

/** Writes the key first: a key without a certificate is replaced, as is one that does not match. */
function writePair(folder: string, name: string, { key, cert }: KeyPair): void {
  writePrivate(join(folder, `${name}.key`), key)
  writePrivate(join(folder, `${name}.crt`), cert)
}
