// Creates X.509 certificates (RFC 5280), with P-256 keys unless the caller has others. Only what a server, its clients
// and their authority need; parsed by node:crypto.
import { X509Certificate, createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import type * as Asn1 from 'asn1js'
import type { CertificateRequest } from './certificate-request.ts'

/** A private key and its certificate, PEM. */
export interface KeyPair {
  readonly key: string
  readonly cert: string
}

/** The validity of a certificate, milliseconds since the epoch. */
export interface Validity {
  readonly from: number
  readonly until: number
}

/**
 * The parts of a distinguished name, the most general first: `[['O', 'system:masters'], ['CN', 'kubernetes-admin']]`.
 */
export type Subject = readonly (readonly ['O' | 'CN', string])[]

/** Server certificate with DNS names and IP addresses, or client certificate. */
export type CertificateUse = { readonly hosts: readonly string[] } | 'client'

const oids = {
  CN: '2.5.4.3',
  O: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  authorityKeyIdentifier: '2.5.29.35',
  subjectAltName: '2.5.29.17',
}

/** Bits of KeyUsage, with the number of those that are left over in the last byte. */
const usages = {
  digitalSignature: { bits: 0x80, unused: 7 },
  keyEncipherment: { bits: 0x20, unused: 5 },
  digitalSignatureAndKeyEncipherment: { bits: 0xa0, unused: 5 },
  digitalSignatureAndKeyCertSign: { bits: 0x84, unused: 2 },
}

/** The usages of the key of a client certificate, besides `client auth`. */
export type ClientKeyUsage = 'digital signature' | 'key encipherment'

const dnsName = 2
const ipAddress = 7

/** The keys of a certificate. */
export interface Keys {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

interface CertificateParts {
  readonly issuer: Asn1.AsnType
  readonly subject: Asn1.AsnType
  readonly publicKey: KeyObject
  readonly extensions: readonly Asn1.Sequence[]
  readonly signingKey: KeyObject
}

/** Creates certificates; the encoder is loaded with the first one. */
export class CertificateMaker {
  readonly #asn1: typeof Asn1
  readonly #validity: Validity

  private constructor(asn1: typeof Asn1, validity: Validity) {
    this.#asn1 = asn1
    this.#validity = validity
  }

  static async start(validity: Validity): Promise<CertificateMaker> {
    return new CertificateMaker(await import('asn1js'), validity)
  }

  /** Creates a self-signed authority. */
  authority(subject: Subject): KeyPair {
    const { privateKey, publicKey } = newKeys()
    const name = this.#name(subject)
    const extensions = [
      this.#extension('basicConstraints', this.#sequence(new this.#asn1.Boolean({ value: true })), true),
      this.#keyUsage(usages.digitalSignatureAndKeyCertSign),
      this.#extension('subjectKeyIdentifier', this.#octets(keyIdentifier(publicKey))),
    ]
    return this.#signed({ issuer: name, subject: name, privateKey, publicKey, extensions, signingKey: privateKey })
  }

  /** Creates a certificate signed by an authority, with a key of its own unless `keys` has one. */
  issue(
    ca: { readonly cert: string; readonly key: KeyObject },
    subject: Subject,
    use: CertificateUse,
    { privateKey, publicKey }: Keys = newKeys(),
  ): KeyPair {
    const authority = new X509Certificate(ca.cert)
    const extensions = [
      this.#extension('basicConstraints', this.#sequence(), true),
      this.#keyUsage(usages.digitalSignature),
      this.#extension('extendedKeyUsage', this.#sequence(this.#oid(use === 'client' ? 'clientAuth' : 'serverAuth'))),
      this.#extension('authorityKeyIdentifier', this.#sequence(this.#tagged(0, keyIdentifier(authority.publicKey)))),
      ...(use === 'client'
        ? []
        : [this.#extension('subjectAltName', this.#sequence(...use.hosts.map((host) => this.#host(host))))]),
    ]
    return this.#signed({
      issuer: this.#subjectOf(authority),
      subject: this.#name(subject),
      privateKey,
      publicKey,
      extensions,
      signingKey: ca.key,
    })
  }

  /** Returns the PEM of a client certificate for a request, signed by an authority. */
  issueFor(
    ca: { readonly cert: string; readonly key: KeyObject },
    { subject, publicKey }: CertificateRequest,
    usage: readonly ClientKeyUsage[],
  ): string {
    const authority = new X509Certificate(ca.cert)
    const bits = clientKeyUsage(usage)
    const extensions = [
      ...(bits === undefined ? [] : [this.#keyUsage(bits)]),
      this.#extension('extendedKeyUsage', this.#sequence(this.#oid('clientAuth'))),
      this.#extension('basicConstraints', this.#sequence(), true),
      this.#extension('authorityKeyIdentifier', this.#sequence(this.#tagged(0, keyIdentifier(authority.publicKey)))),
    ]
    return this.#certificate({
      issuer: this.#subjectOf(authority),
      subject: this.#decoded(subject),
      publicKey,
      extensions,
      signingKey: ca.key,
    })
  }

  #signed({ privateKey, ...parts }: CertificateParts & { readonly privateKey: KeyObject }): KeyPair {
    return {
      // RSA keys have the form in which kubeadm writes them.
      key: privateKey.export({
        type: privateKey.asymmetricKeyType === 'rsa' ? 'pkcs1' : 'pkcs8',
        format: 'pem',
      }) as string,
      cert: this.#certificate(parts),
    }
  }

  #certificate(parts: CertificateParts): string {
    const asn1 = this.#asn1
    const algorithm = this.#sequence(this.#oid('ecdsaWithSha256'))
    const content = this.#sequence(
      new asn1.Constructed({ idBlock: { tagClass: 3, tagNumber: 0 }, value: [new asn1.Integer({ value: 2 })] }),
      new asn1.Integer({ valueHex: serialNumber() }),
      algorithm,
      parts.issuer,
      this.#sequence(this.#time(this.#validity.from), this.#time(this.#validity.until)),
      parts.subject,
      this.#decoded(parts.publicKey.export({ type: 'spki', format: 'der' })),
      new asn1.Constructed({ idBlock: { tagClass: 3, tagNumber: 3 }, value: [this.#sequence(...parts.extensions)] }),
    )
    const signature = sign('sha256', Buffer.from(content.toBER()), parts.signingKey)
    const certificate = this.#sequence(content, algorithm, new asn1.BitString({ valueHex: signature }))
    return new X509Certificate(Buffer.from(certificate.toBER())).toString()
  }

  #name(subject: Subject): Asn1.Sequence {
    const { Set: AsnSet, Utf8String } = this.#asn1
    return this.#sequence(
      ...subject.map(
        ([type, value]) => new AsnSet({ value: [this.#sequence(this.#oid(type), new Utf8String({ value }))] }),
      ),
    )
  }

  /** Returns the encoded subject of an authority byte by byte: clients compare the bytes. */
  #subjectOf(authority: X509Certificate): Asn1.AsnType {
    const [content] = (this.#decoded(authority.raw) as Asn1.Sequence).valueBlock.value as [Asn1.Sequence]
    return content.valueBlock.value[5] as Asn1.Sequence
  }

  #time(milliseconds: number): Asn1.AsnType {
    const valueDate = new Date(milliseconds)
    return valueDate.getUTCFullYear() < 2050
      ? new this.#asn1.UTCTime({ valueDate })
      : new this.#asn1.GeneralizedTime({ valueDate })
  }

  #host(host: string): Asn1.AsnType {
    return isIP(host) === 0 ? this.#tagged(dnsName, Buffer.from(host)) : this.#tagged(ipAddress, addressBytes(host))
  }

  #keyUsage({ bits, unused }: { readonly bits: number; readonly unused: number }): Asn1.Sequence {
    return this.#extension(
      'keyUsage',
      new this.#asn1.BitString({ valueHex: Uint8Array.of(bits), unusedBits: unused }),
      true,
    )
  }

  #extension(name: keyof typeof oids, value: Asn1.AsnType, isCritical = false): Asn1.Sequence {
    const critical = isCritical ? [new this.#asn1.Boolean({ value: true })] : []
    return this.#sequence(this.#oid(name), ...critical, this.#octets(new Uint8Array(value.toBER())))
  }

  #sequence(...value: Asn1.AsnType[]): Asn1.Sequence {
    return new this.#asn1.Sequence({ value })
  }

  #oid(name: keyof typeof oids): Asn1.ObjectIdentifier {
    return new this.#asn1.ObjectIdentifier({ value: oids[name] })
  }

  #octets(valueHex: Uint8Array): Asn1.OctetString {
    return new this.#asn1.OctetString({ valueHex })
  }

  #tagged(tagNumber: number, valueHex: Uint8Array): Asn1.Primitive {
    return new this.#asn1.Primitive({ idBlock: { tagClass: 3, tagNumber }, valueHex })
  }

  #decoded(der: Uint8Array): Asn1.AsnType {
    return this.#asn1.fromBER(der).result
  }
}

function clientKeyUsage(
  usage: readonly ClientKeyUsage[],
): { readonly bits: number; readonly unused: number } | undefined {
  const [signs, enciphers] = [usage.includes('digital signature'), usage.includes('key encipherment')]
  if (signs) return enciphers ? usages.digitalSignatureAndKeyEncipherment : usages.digitalSignature
  return enciphers ? usages.keyEncipherment : undefined
}

function newKeys(): Keys {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

/** 127 random bits, never negative and never short. */
function serialNumber(): Uint8Array {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x3f) | 0x40
  return bytes
}

/** SHA-1 of the point, RFC 5280 §4.2.1.2 (1): the last 65 bytes of a P-256 key. */
function keyIdentifier(publicKey: KeyObject): Uint8Array {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }).subarray(-65))
    .digest()
}

function addressBytes(address: string): Uint8Array {
  if (isIP(address) === 4) return Uint8Array.from(address.split('.'), Number)
  // `URL` formats an IPv6 address in its shortest form, without an IPv4 part.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groupsOf = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [before, after] = [groupsOf(left), groupsOf(right ?? '')]
  const groups = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]))
}
