// Certificates for approved requests. The requests were made with openssl.
import { X509Certificate } from 'node:crypto'
import { request as httpsRequest } from 'node:https'
import { expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'
import { kind } from '@fairlead/client'
import type { Kind } from '@fairlead/client'
import type { JsonObject, KubeObject } from '@fairlead/kube'

const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWIji+DAvnb7ILWgP
eeYxe4GW9Cg8iiCsIHayblxh0/KhRANCAAS0xD35gUdKEI3NtWU0hEClgcgNAE74
s6Q5+WfhWiYZfGJ1ry3GqCFEpq1zjvC4kAyKsgEnqTiXExtRaf+xQuDL
-----END PRIVATE KEY-----
`
/** Of the key above: O=devs, CN=tester. */
const ofTester = `-----BEGIN CERTIFICATE REQUEST-----
MIHaMIGCAgEAMCAxDTALBgNVBAoMBGRldnMxDzANBgNVBAMMBnRlc3RlcjBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABLTEPfmBR0oQjc21ZTSEQKWByA0ATvizpDn5
Z+FaJhl8YnWvLcaoIUSmrXOO8LiQDIqyASepOJcTG1Fp/7FC4MugADAKBggqhkjO
PQQDAgNHADBEAiBOxbcu4O0r5+KjXtPbrvWyoTuYoNkl6DDBfjRLVKVHGgIgAJlX
qNwS7+QcvqW6Gm/Nsy9zJ96Rj6Rs82Rkqc0wq4E=
-----END CERTIFICATE REQUEST-----
`
/** Of an RSA key: CN=rsa-tester. */
const withRsaKey = `-----BEGIN CERTIFICATE REQUEST-----
MIICWjCCAUICAQAwFTETMBEGA1UEAwwKcnNhLXRlc3RlcjCCASIwDQYJKoZIhvcN
AQEBBQADggEPADCCAQoCggEBANO3XmGSqJG5k4mkv8coK16J9ciXYjy8O+Ot0uOg
vx4IzqXpTOm9NsSpTXZmwVgepe6qb4IQiiMBzMx9tKTvECfMl/o2GS6cjgc1PYKi
8Yk9PEMP2+50uw3VjdmivsLxdNf9RyD/k2J3kF1C6qE5RAe4S7dUYQllza2MGdfM
voM+qVGs1RTEhTsRmhJdMAwYOguv37/IRQ3U0D+t86H6pdNcyE2JoiD1UzHdNyVB
B9ERwfVZVkcmzGploG7BWU024IqT33CMIFk78lhOi94WJeFAPAUEW29vLMCdM1Gx
MgH39GwKWR5r7wsiKIWp4yXTDsirGs7QLY8wlJOmvYE8oM8CAwEAAaAAMA0GCSqG
SIb3DQEBCwUAA4IBAQCBVbnRvpvCgsfHrUTFkc+z3pINPw51HQp6DGTy91C0JuTY
dTy42r8kuzgtkueODpOb5s1Rirm3pOc0LL2qH37Pcvc4jqa28S48OwfMSpTGNDGw
eMr3vY+cULEYZ1r5/y76PeqTvADDI91SGaQYI+egVvcp/PIFw2x7alSWsx4eLi47
RwNhQymqwlI7C0D8zEAKFPkQt6S5VF3CI5auI4WJx2UP6fev40k2eL+ovvRwrKej
jD70mmHlthimQ+oYlJsOYWn9gPbk2Kq/epLcOSoTdrQc6EGVDHOVpjaSoy/VIKxf
zy8epOa2jgc0KBesZs5mkKJll5u+hel+VmG1RHQ4
-----END CERTIFICATE REQUEST-----
`

interface Signed extends KubeObject {
  readonly status?: {
    readonly certificate?: string
    readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[]
  }
}

const Request: Kind<Signed> = kind('certificates.k8s.io/v1', 'CertificateSigningRequest', {
  plural: 'certificatesigningrequests',
  namespaced: false,
})

const usages = ['digital signature', 'key encipherment', 'client auth']

/** Creates a request, approves it and returns it once it is signed or has failed. */
async function decided(server: ApiServer, name: string, pem: string, spec: JsonObject = {}): Promise<Signed> {
  const client = server.client()
  const request = Buffer.from(pem).toString('base64')
  const created = await client.create<Signed>({
    apiVersion: Request.apiVersion,
    kind: Request.kind,
    metadata: { name },
    spec: { signerName: 'kubernetes.io/kube-apiserver-client', request, usages, ...spec },
  })
  const approved = { type: 'Approved', status: 'True', reason: 'Test', message: '' }
  await client.update({ ...created, status: { conditions: [approved] } }, { subresource: 'approval' })
  const read = (): Promise<Signed> => client.get(Request, name)
  const isDecided = ({ status }: Signed): boolean =>
    status?.certificate !== undefined || (status?.conditions ?? []).some(({ type }) => type === 'Failed')
  await expect.poll(async () => isDecided(await read())).toBe(true)
  return read()
}

function certificateOf({ status }: Signed): X509Certificate {
  return new X509Certificate(Buffer.from(status?.certificate ?? '', 'base64'))
}

test('an approved request for a client certificate is signed, and the server knows its user', async () => {
  await using server = await ApiServer.start({ controllers: ['certificate-signing'] })
  const { url, certificateAuthority } = await server.listen({ port: 0 })
  const signed = await decided(server, 'tester', ofTester, { expirationSeconds: 3600 })
  const certificate = certificateOf(signed)
  expect(certificate.subject).toBe('O=devs\nCN=tester')
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
  expect(certificate.ca).toBe(false)
  // The hour that was asked for, and the five minutes by which the beginning is earlier.
  expect(Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)).toBe(65 * 60_000)
  const answer = await post(
    new URL('/apis/authentication.k8s.io/v1/selfsubjectreviews', url),
    { ca: certificateAuthority, cert: certificate.toString(), key },
    { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  )
  expect(answer).toMatchObject({
    status: { userInfo: { username: 'tester', groups: ['devs', 'system:authenticated'] } },
  })
})

test('a request without a lifetime gets a year, also for an RSA key', async () => {
  await using server = await ApiServer.start({ controllers: ['certificate-signing'] })
  const certificate = certificateOf(await decided(server, 'rsa', withRsaKey, { usages: ['client auth'] }))
  expect([certificate.subject, certificate.publicKey.asymmetricKeyType]).toEqual(['CN=rsa-tester', 'rsa'])
  expect(Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)).toBe(365 * 24 * 60 * 60_000)
})

test.each([
  ['for a server', ofTester, ['server auth'], 'invalid usage for client certificate: server auth'],
  [
    'without client auth',
    ofTester,
    ['digital signature'],
    'missing required usage for client certificate: client auth',
  ],
  [
    'signed with another key',
    withWrongSignature(ofTester),
    ['client auth'],
    'unable to verify certificate request signature',
  ],
])('an approved request %s fails', async (_, pem, wanted, message) => {
  await using server = await ApiServer.start({ controllers: ['certificate-signing'] })
  const { status } = await decided(server, 'failing', pem, { usages: wanted })
  expect(status?.certificate).toBeUndefined()
  expect(status?.conditions?.find(({ type }) => type === 'Failed')).toMatchObject({
    reason: 'SignerValidationFailure',
    message,
  })
})

test('requests for another signer, and those that are not approved, are left to others', async () => {
  await using server = await ApiServer.start({ controllers: ['certificate-signing'] })
  const client = server.client()
  const request = Buffer.from(ofTester).toString('base64')
  const base = { apiVersion: Request.apiVersion, kind: Request.kind }
  const of = (name: string, signerName: string): KubeObject => ({
    ...base,
    metadata: { name },
    spec: { signerName, request, usages },
  })
  await client.create(of('pending', 'kubernetes.io/kube-apiserver-client'))
  const other = await client.create<Signed>(of('other', 'example.com/signer'))
  const approved = { type: 'Approved', status: 'True', reason: 'Test', message: '' }
  await client.update({ ...other, status: { conditions: [approved] } }, { subresource: 'approval' })
  // Signed after the others were looked at.
  await decided(server, 'last', ofTester)
  const certificates = ['pending', 'other'].map(async (name) => (await client.get(Request, name)).status?.certificate)
  expect(await Promise.all(certificates)).toEqual([undefined, undefined])
})

/** Returns a request whose last byte, of the signature, is another one. */
function withWrongSignature(pem: string): string {
  const der = Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64')
  der[der.length - 1] = der.at(-1)! ^ 1
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
}

function post(url: URL, tls: { ca: string; cert: string; key: string }, body: JsonObject): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const options = { ...tls, method: 'POST', headers: { 'content-type': 'application/json' }, agent: false } as const
    const request = httpsRequest(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve(JSON.parse(text))).on('error', reject)
    })
    request.on('error', reject).end(JSON.stringify(body))
  })
}
