// Reads certificate signing requests (PKCS #10, RFC 2986).
import { createPublicKey, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type * as Asn1 from 'asn1js'

const organization = '2.5.4.10'

/** The digests of signature algorithms, by object identifier; null for those without one. */
const digests: Readonly<Record<string, string | null>> = {
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.3.101.112': null,
}

/** The parts of a certificate signing request from which a certificate is made. */
export interface CertificateRequest {
  /** The distinguished name, DER. */
  readonly subject: Uint8Array
  readonly publicKey: KeyObject
}

/**
 * Reads a PEM certificate signing request and verifies that its author has the private key.
 * @throws Error for what is none, and for a wrong signature
 */
export async function readCertificateRequest(pem: string): Promise<CertificateRequest> {
  const { request, info, subject } = await parse(pem)
  const [, , key] = childrenOf(info)
  const [, algorithm, signature] = childrenOf(request)
  const [identifier] = algorithm === undefined ? [] : childrenOf(algorithm)
  if (key === undefined || identifier === undefined || signature === undefined) throw malformed()
  const digest = digests[String(identifier.valueBlock)]
  if (digest === undefined) throw new Error('unsupported signature algorithm of the certificate request')
  const publicKey = createPublicKey({ key: Buffer.from(derOf(key)), format: 'der', type: 'spki' })
  if (!verify(digest, derOf(info), publicKey, (signature as Asn1.BitString).valueBlock.valueHexView))
    throw new Error('unable to verify certificate request signature')
  return { subject: derOf(subject), publicKey }
}

/**
 * Returns the organizations in the subject of a PEM certificate signing request.
 * @throws Error for what is none
 */
export async function requestedOrganizations(pem: string): Promise<readonly string[]> {
  const { asn1, subject } = await parse(pem)
  return childrenOf(subject)
    .flatMap(childrenOf)
    .flatMap((attribute) => {
      const [type, value] = childrenOf(attribute)
      const isOrganization = type instanceof asn1.ObjectIdentifier && type.valueBlock.toString() === organization
      return isOrganization && value !== undefined ? [textOf(value)] : []
    })
}

interface ParsedRequest {
  readonly asn1: typeof Asn1
  /** The info, the signature algorithm and the signature. */
  readonly request: Asn1.BaseBlock
  /** The version, the subject and the public key. */
  readonly info: Asn1.BaseBlock
  /** A sequence of sets of attributes. */
  readonly subject: Asn1.BaseBlock
}

async function parse(pem: string): Promise<ParsedRequest> {
  const asn1 = await import('asn1js')
  const body = /-----BEGIN CERTIFICATE REQUEST-----([\s\S]*?)-----END CERTIFICATE REQUEST-----/.exec(pem)?.[1]
  if (body === undefined) throw new Error('PEM block type must be CERTIFICATE REQUEST')
  const { result: request, offset } = asn1.fromBER(Buffer.from(body, 'base64'))
  const [info] = offset < 0 ? [] : childrenOf(request)
  const [, subject] = info === undefined ? [] : childrenOf(info)
  if (info === undefined || subject === undefined) throw malformed()
  return { asn1, request, info, subject }
}

function malformed(): Error {
  return new Error('malformed certificate request')
}

function derOf(block: Asn1.BaseBlock): Uint8Array {
  return block.valueBeforeDecodeView
}

function childrenOf(block: Asn1.BaseBlock): readonly Asn1.BaseBlock[] {
  const { value } = block.valueBlock as { readonly value?: unknown }
  return Array.isArray(value) ? (value as Asn1.BaseBlock[]) : []
}

function textOf(block: Asn1.BaseBlock): string {
  const { value } = block.valueBlock as { readonly value?: unknown }
  return typeof value === 'string' ? value : ''
}
