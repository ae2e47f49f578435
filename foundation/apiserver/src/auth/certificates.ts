// The server's own certificate authority: made once, kept in the data folder. P-256 throughout.
import { webcrypto, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '@fairlead/kube'
import { readText, writePrivate } from './private-file.ts'
import type * as x509Module from '@peculiar/x509'

/** A private key and its certificate, PEM texts. */
export interface KeyPair {
  readonly key: string
  readonly cert: string
}

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

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const day = 24 * 60 * 60_000
const lifetime = 3650 * day
/** Certificates of a folder are made anew when they have less left. */
const renewBefore = 30 * day
/** Clocks of clients may be slow. */
const backdate = 60 * 60_000

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
  const maker = await Maker.start(options)
  const ca = await maker.authority()
  return {
    ca,
    server: await maker.issue(ca, 'CN=fairlead-apiserver', { hosts: hostsOf(options) }),
    admin: await maker.issue(ca, 'O=system:masters,CN=kubernetes-admin', { client: true }),
  }
}

/**
 * The certificates of a folder, which are made when they are missing. The authority stays for good; the others are made anew when a host is
 * missing or they run out. Files are readable by their owner only.
 */
export async function loadCertificates(folder: string, options: CertificateOptions): Promise<Certificates> {
  let maker: Promise<Maker> | undefined
  const start = (): Promise<Maker> => (maker ??= Maker.start(options))
  const ca = await keptPair(
    folder,
    'ca',
    (pair) => isFresh(pair, options),
    async () => (await start()).authority(),
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
      async () => (await start()).issue(ca, 'CN=fairlead-apiserver', { hosts }),
    ),
    admin: await keptPair(folder, 'admin', isOurs, async () =>
      (await start()).issue(ca, 'O=system:masters,CN=kubernetes-admin', { client: true }),
    ),
  }
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

type X509 = typeof x509Module

interface Keys {
  readonly pair: webcrypto.CryptoKeyPair
  readonly pem: string
}

/** Makes certificates; the library is loaded only when one has to be made. */
class Maker {
  readonly #x509: X509
  readonly #notBefore: Date
  readonly #notAfter: Date

  private constructor(x509: X509, now: number) {
    this.#x509 = x509
    this.#notBefore = new Date(now - backdate)
    this.#notAfter = new Date(now + lifetime)
  }

  static async start({ clock }: CertificateOptions): Promise<Maker> {
    await import('reflect-metadata')
    return new Maker(await import('@peculiar/x509'), clock.now())
  }

  async keys(): Promise<Keys> {
    const pair = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const { PemConverter } = this.#x509
    return {
      pair,
      pem: PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey), PemConverter.PrivateKeyTag),
    }
  }

  async authority(): Promise<KeyPair> {
    const {
      X509CertificateGenerator,
      BasicConstraintsExtension,
      KeyUsagesExtension,
      KeyUsageFlags,
      SubjectKeyIdentifierExtension,
    } = this.#x509
    const { pair, pem } = await this.keys()
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: 'CN=fairlead-ca',
      keys: pair,
      notBefore: this.#notBefore,
      notAfter: this.#notAfter,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.digitalSignature, true),
        await SubjectKeyIdentifierExtension.create(pair.publicKey),
      ],
    })
    return { key: pem, cert: certificate.toString('pem') }
  }

  async issue(
    ca: KeyPair,
    subject: string,
    use: { readonly hosts: readonly string[] } | { readonly client: true },
  ): Promise<KeyPair> {
    const x509 = this.#x509
    const { ExtendedKeyUsage } = x509
    const { pair, pem } = await this.keys()
    const authority = new x509.X509Certificate(ca.cert)
    const names =
      'hosts' in use
        ? use.hosts.map((host) => ({ type: isIP(host) === 0 ? ('dns' as const) : ('ip' as const), value: host }))
        : []
    const certificate = await x509.X509CertificateGenerator.create({
      subject,
      issuer: authority.subject,
      publicKey: pair.publicKey,
      signingKey: await this.#importKey(ca.key),
      notBefore: this.#notBefore,
      notAfter: this.#notAfter,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([
          'hosts' in use ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth,
        ]),
        await x509.AuthorityKeyIdentifierExtension.create(authority),
        ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
      ],
    })
    return { key: pem, cert: certificate.toString('pem') }
  }

  #importKey(pem: string): Promise<webcrypto.CryptoKey> {
    return webcrypto.subtle.importKey('pkcs8', this.#x509.PemConverter.decodeFirst(pem), algorithm, false, ['sign'])
  }
}
