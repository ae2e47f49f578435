// Keys that users bring for tokens of service accounts: types, several of them, several issuers.
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { expect, test } from 'vitest'
import { FakeClock } from '@fairlead/kube'
import { memory, ServiceAccountTokens, signingKey, verificationKeys } from '@fairlead/apiserver'
import { caCertificate } from '../../../../test/support/certificates.ts'

const clock = new FakeClock('2026-01-01T00:00:00Z')
const grant = { namespace: 'ns', name: 'sa', uid: 'u', audiences: ['api'], expirationSeconds: 600, bound: undefined }
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })

async function tokensOf(key: KeyObject, options: object = {}): Promise<ServiceAccountTokens> {
  const store = await memory({ clock }).open()
  const object = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sa', namespace: 'ns', uid: 'u' } }
  await store.write({ resource: 'serviceaccounts.', key: 'ns/sa', expected: 0, object: object as never })
  const newUid = (): string => 'id'
  return new ServiceAccountTokens({ key, issuer: 'https://a/', audiences: ['api'], clock, store, newUid, ...options })
}

test.each([
  ['RS256', rsa.privateKey],
  ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
  ['ES384', p384.privateKey],
  ['ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey],
])('tokens are signed with %s, and verified by the server and by others', async (algorithm, key) => {
  const tokens = await tokensOf(key)
  const token = await tokens.issue(grant)
  expect(decodeProtectedHeader(token).alg).toBe(algorithm)
  expect(await tokens.verify(token)).toMatchObject({ user: { name: 'system:serviceaccount:ns:sa' } })
  const keys = createLocalJWKSet(tokens.keySet() as unknown as JSONWebKeySet)
  await jwtVerify(token, keys, { issuer: 'https://a/', currentDate: new Date(clock.now()) })
  expect(tokens.discoveryDocument()).toMatchObject({
    jwks_uri: 'https://a/openid/v1/jwks',
    id_token_signing_alg_values_supported: [algorithm],
  })
})

test('tokens of former keys and issuers stay valid, those of others do not', async () => {
  const token = await (await tokensOf(p384.privateKey, { issuer: 'https://old' })).issue(grant)
  const both = [rsa.publicKey, p384.publicKey]
  const now = await tokensOf(rsa.privateKey, { verificationKeys: both, formerIssuers: ['https://old'] })
  expect(await now.verify(token)).toMatchObject({ user: { name: 'system:serviceaccount:ns:sa' } })
  expect(await (await tokensOf(rsa.privateKey, { verificationKeys: both })).verify(token)).toBeUndefined()
  expect(await (await tokensOf(rsa.privateKey, { formerIssuers: ['https://old'] })).verify(token)).toBeUndefined()
})

test('PEM files of keys hold private keys, public keys and certificates, one or more', () => {
  const pem = (key: KeyObject, type: 'spki' | 'pkcs8'): string => key.export({ type, format: 'pem' }) as string
  const both = `${pem(rsa.publicKey, 'spki')}${caCertificate}`
  expect(verificationKeys(both).map(({ asymmetricKeyType }) => asymmetricKeyType)).toEqual(['rsa', 'ec'])
  expect(verificationKeys(pem(rsa.privateKey, 'pkcs8'))[0]!.equals(rsa.publicKey)).toBe(true)
  expect(signingKey(pem(p384.privateKey, 'pkcs8')).equals(p384.privateKey)).toBe(true)
  const other = generateKeyPairSync('ed25519')
  const problem = 'its key must be RSA, or EC on P-256, P-384 or P-521'
  expect(() => verificationKeys(pem(other.publicKey, 'spki'))).toThrow(problem)
  expect(() => signingKey(pem(other.privateKey, 'pkcs8'))).toThrow(problem)
  expect(() => verificationKeys('none')).toThrow('it holds no PEM block of a key or certificate')
})
