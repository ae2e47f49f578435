// CertificateSubjectRestriction. The messages are those of k8s.io/kubernetes, plugin/pkg/admission/certificates.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApiServer } from '@fairlead/apiserver'

let server: ApiServer
const user = { name: 'admin', groups: ['system:masters'] }
const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const ofMasters = `-----BEGIN CERTIFICATE REQUEST-----
MIHjMIGJAgEAMCcxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMQwwCgYDVQQDDANl
dmUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQle6iNRm2+m7roTx06MG9JbHwW
ptBJlmRILwoaFC4fDmJqYhCeeIaIkrCzpOWZLAR6wQinD7RlqvZ/A+CFd8l1oAAw
CgYIKoZIzj0EAwIDSQAwRgIhAJb1OIRRRYV/1rbYd2RY8mUCCR8ARs8myDJ5beIh
6yDeAiEA0M4uXxXsghBr/nFnADpcFo+HfL8vjkAFE8nKC7svBAk=
-----END CERTIFICATE REQUEST-----
`
const ofDevelopers = `-----BEGIN CERTIFICATE REQUEST-----
MIHXMH8CAQAwHTENMAsGA1UECgwEZGV2czEMMAoGA1UEAwwDZXZlMFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAE3bgLYNyAmu5k7ydXEc0oy4Cp7DReP6gxvXFVe7kx
Xmtyd9VR0y5fFBYTx3d9KH1K954kC/LHEFPlKa5AQ4f5BqAAMAoGCCqGSM49BAMC
A0gAMEUCIQDZs5l3FmIMj633Nv4uXHhy9uUnPovvS3T2wL6kDPwS8AIgPI+IiFRS
TbXOxFIjYVfsbiTTkdjA6P68S3lGdkoJRkI=
-----END CERTIFICATE REQUEST-----
`

beforeAll(async () => {
  server = await ApiServer.start({ controllers: false })
})
afterAll(() => server[Symbol.asyncDispose]())

async function create(request: string, signerName: string): Promise<{ status: number; message: unknown }> {
  const response = await server.inject({
    method: 'POST',
    path,
    user,
    body: {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'eve' },
      spec: { request: Buffer.from(request).toString('base64'), signerName, usages: ['client auth'] },
    },
  })
  if (response.status === 201) await server.inject({ method: 'DELETE', path: `${path}/eve`, user })
  return { status: response.status, message: (response.json() as { message?: string }).message }
}

const client = 'kubernetes.io/kube-apiserver-client'

test('refuses a client certificate of system:masters, to administrators too', async () => {
  expect(await create(ofMasters, client)).toEqual({
    status: 403,
    message:
      'certificatesigningrequests.certificates.k8s.io "eve" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
  })
})

test.each([
  ['another group', ofDevelopers, client],
  ['another signer', ofMasters, 'example.com/signer'],
])('accepts a request for %s', async (_, request, signer) => {
  expect(await create(request, signer)).toEqual({ status: 201, message: undefined })
})

test('refuses a request for a client certificate that cannot be read', async () => {
  const { status, message } = await create(
    '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n',
    client,
  )
  expect(status).toBe(403)
  expect(message).toContain('failed to parse CSR: ')
})
