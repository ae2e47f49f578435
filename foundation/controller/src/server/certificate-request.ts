// Reads certificate signing requests (PKCS #10, RFC 2986).
import type * as Asn1 from 'asn1js'

const organization = '2.5.4.10'

/**
 * Returns the organizations in the subject of a PEM certificate signing request.
 * @throws Error for what is none
 */
export async function requestedOrganizations(pem: string): Promise<readonly string[]> {
  const asn1 = await import('asn1js')
  const body = /-----BEGIN CERTIFICATE REQUEST-----([\s\S]*?)-----END CERTIFICATE REQUEST-----/.exec(pem)?.[1]
  if (body === undefined) throw new Error('PEM block type must be CERTIFICATE REQUEST')
  const { result, offset } = asn1.fromBER(Buffer.from(body, 'base64'))
  const [info] = offset < 0 ? [] : childrenOf(result)
  // The version, then the subject: a sequence of sets of attributes.
  const [, subject] = info === undefined ? [] : childrenOf(info)
  if (subject === undefined) throw new Error('malformed certificate request')
  return childrenOf(subject)
    .flatMap(childrenOf)
    .flatMap((attribute) => {
      const [type, value] = childrenOf(attribute)
      const isOrganization = type instanceof asn1.ObjectIdentifier && type.valueBlock.toString() === organization
      return isOrganization && value !== undefined ? [textOf(value)] : []
    })
}

function childrenOf(block: Asn1.BaseBlock): readonly Asn1.BaseBlock[] {
  const { value } = block.valueBlock as { readonly value?: unknown }
  return Array.isArray(value) ? (value as Asn1.BaseBlock[]) : []
}

function textOf(block: Asn1.BaseBlock): string {
  const { value } = block.valueBlock as { readonly value?: unknown }
  return typeof value === 'string' ? value : ''
}
